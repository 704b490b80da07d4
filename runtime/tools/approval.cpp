#include "runtime/tools/approval.hpp"

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/json/dom.hpp"

namespace ratchet {

std::optional<std::string> approval_reason(const ApprovalRule& rule, const boost::json::value& args) {
  if (rule.mode == ApprovalMode::never) return std::nullopt;
  if (rule.mode == ApprovalMode::always) return "manifest: approval always";
  for (const ApprovalThreshold& threshold : rule.thresholds) {
    const auto* value = value_at(args, threshold.steps);
    if (!value || (!value->is_array() && !value->is_number()))
      return fmt::format("manifest: {} is no number and no array", threshold.argument);
    const double size =
        value->is_array() ? static_cast<double>(value->get_array().size()) : value->to_number<double>();
    if (size > threshold.above)
      return fmt::format("manifest: {} above {}", threshold.argument, threshold.above);
  }
  return std::nullopt;
}

}  // namespace ratchet
