#pragma once
// A run as somebody sees it who may not see exact bytes.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/redact/redactor.hpp"
#include "runtime/redact/tool_redaction.hpp"

namespace ratchet {

/// Immutable; used from any thread.
class RunView {
 public:
  /// `tools` are those of the run's version.
  RunView(std::shared_ptr<const Redactor> redactor, std::span<const ToolManifest> tools)
      : redactor_(std::move(redactor)), tools_(tools) {}

  /// A JSON text of the run without what is hidden; nothing where it can be shown as it is.
  std::optional<std::string> json(std::string_view json) const {
    auto without = tools_.apply(json);
    auto redacted = redactor_->json(without ? *without : json);
    return redacted ? redacted : without;
  }

  const std::shared_ptr<const Redactor>& redactor() const { return redactor_; }

  /// Whether a tool of the version hides part of its arguments and results.
  bool has_hiding_tools() const { return !tools_.empty(); }

 private:
  std::shared_ptr<const Redactor> redactor_;
  ToolRedaction tools_;
};

}  // namespace ratchet
