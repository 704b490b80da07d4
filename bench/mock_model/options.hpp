#pragma once

#include <cstdint>
#include <string>

namespace ratchet::bench {

enum class ModelProtocol { anthropic, openai };

struct MockOptions {
  std::uint16_t port = 0;       ///< 0: any free one; it is printed
  std::int64_t latency_ms = 0;  ///< from a request to the end of its reply
  unsigned chunks = 5;          ///< pieces of a reply, 1 to 100
  bool burst = false;           ///< all pieces at the end instead of spread over the latency
  unsigned steps = 12;          ///< the reply of this step is the final answer
  std::string tool = "lookup";  ///< what every other reply calls
  std::string arguments;        ///< of the call, with {run} {step} {offset} {artifact}; empty: by tool
  std::int64_t tool_latency_ms = 0;
  bool mix = false;  ///< some runs call other tools, see common/mix.hpp
};

}  // namespace ratchet::bench
