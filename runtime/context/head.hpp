#pragma once
// The head of a context: everything before the first message, the same in every request of every run of one
// agent version with one provider. Rendered and hashed once, shared by all of them.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/agent.hpp"
#include "runtime/hash.hpp"
#include "runtime/model/client.hpp"

namespace ratchet {

struct Head {
  std::shared_ptr<const std::string> bytes;  ///< with its cache marks: what is sent
  Sha256 plain;                              ///< over the bytes without marks, for prompt hashes
  Sha256 sent;                               ///< over the bytes with marks, for request hashes
  std::int64_t estimated_tokens = 0;
};

std::shared_ptr<const Head> make_head(const AgentVersion& agent,
                                      const ModelConfig& model,
                                      const ModelSettings& settings,
                                      std::uint32_t provider);

/// Remembers heads that some run still uses. Called from any thread.
class HeadCache {
 public:
  std::shared_ptr<const Head> get(const AgentVersion& agent,
                                  const ModelConfig& model,
                                  const ModelSettings& settings,
                                  std::uint32_t provider);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const Head>> heads_;
};

}  // namespace ratchet
