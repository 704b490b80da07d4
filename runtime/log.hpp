#pragma once
// The log as the core and the actors see it: a line and how much it matters. Never a secret, never content of
// a run.

#include <functional>
#include <string>

#include "runtime/enums.hpp"

namespace ratchet {

RATCHET_ENUM(LogLevel, debug, info, warning, error)

/// Called from any thread.
using Log = std::function<void(LogLevel, const std::string&)>;

}  // namespace ratchet
