#pragma once
// The guest as process 1: one loop over the control pipe, the command under way and the proxy.

#include <cstdint>

#include "sandbox/guest/processes.hpp"

namespace ratchet::guest {

struct ServeOptions {
  Identity identity;
  std::uint16_t proxy_port = 3128;
};

/// Until the host closes the pipe.
[[noreturn]] void serve(const ServeOptions& options);

}  // namespace ratchet::guest
