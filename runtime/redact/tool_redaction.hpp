#pragma once
// What tools hide themselves: the values at a manifest's `redact` pointers, in the arguments of its calls and
// in their results. `*` stands for every element.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tools/manifest.hpp"

namespace ratchet {

/// Of the tools of one agent version. Immutable; used from any thread.
class ToolRedaction {
 public:
  explicit ToolRedaction(std::span<const ToolManifest> tools);

  /// Whether no tool hides anything.
  bool empty() const { return by_tool_.empty(); }

  /// A JSON text that the API shows (an event, a reply, an approval) without those values; nothing where it
  /// has none. `args` and `edited_args` are those of the `tool` beside them, an object with `call_id` and
  /// `content` is a result. Where it is not said of which tool they are, the pointers of all tools apply. Of
  /// a result that is JSON and was cut nothing is shown.
  std::optional<std::string> apply(std::string_view json) const;

 private:
  using Paths = std::vector<std::vector<std::string>>;

  std::map<std::string, Paths, std::less<>> by_tool_;
  Paths all_;
};

}  // namespace ratchet
