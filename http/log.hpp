#pragma once
// Log lines of this process, on standard error.

#include <memory>

#include "runtime/log.hpp"
#include "runtime/redact/redactor.hpp"

namespace ratchet {

/// Sets the process up: one line a message, whatever is in it, times in UTC; with `json` each line is
/// `{"at", "level", "text"}`. Secrets are hidden from every line. Called before there are threads; called
/// again, the last one counts.
void configure_log(bool json, std::shared_ptr<const Redactor> redactor = Redactor::standard());

/// Writes a line. Called from any thread.
void write_log(LogLevel level, const std::string& text);

}  // namespace ratchet
