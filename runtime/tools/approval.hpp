#pragma once
// When a tool itself wants a person to decide, whatever the policy allows: the manifest's `approval`.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/fwd.hpp>

#include "runtime/enums.hpp"

namespace ratchet {

RATCHET_ENUM(ApprovalMode, never, always, required_above)

/// A number that an argument must not exceed: its value, or the length of an array.
struct ApprovalThreshold {
  std::string argument;            ///< as it stands in the manifest: a name, or a JSON pointer
  std::vector<std::string> steps;  ///< to the value
  double above = 0;
};

struct ApprovalRule {
  ApprovalMode mode = ApprovalMode::never;
  std::vector<ApprovalThreshold> thresholds;  ///< of required_above
};

/// Stands in the result of a call that a person edited, before the arguments it was made with.
inline constexpr std::string_view edited_args_note =
    "Note: a person changed the arguments before this call ran, to ";

/// Why the call needs a person's decision, if it does: "manifest: recipients above 1". An argument that is
/// missing, or is neither a number nor an array, needs one too.
std::optional<std::string> approval_reason(const ApprovalRule& rule, const boost::json::value& args);

}  // namespace ratchet
