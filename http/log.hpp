#pragma once
// Log lines of this process, on standard error.

#include "runtime/log.hpp"

namespace ratchet {

/// Sets the process up: one line a message, whatever is in it, times in UTC; with `json` each line is
/// `{"at", "level", "text"}`. Called once, before there are threads.
void configure_log(bool json);

/// Writes a line. Called from any thread.
void write_log(LogLevel level, const std::string& text);

}  // namespace ratchet
