#pragma once

#include "bench/load/testbed.hpp"

namespace ratchet::bench {

/// Of the bytes that the model was sent in one run, the percentage that the request before began with too:
/// what a prompt cache can serve. The first request is compared with that of another run, whose prompt and
/// tools are the same. Needs two finished runs. Throws std::runtime_error where the server does not say what
/// was sent.
double prefix_percent(Testbed& testbed);

}  // namespace ratchet::bench
