#pragma once
// What teams have registered: tools and agents, each in versions 1, 2, 3 …, stored in the journal's
// definitions. A version holds everything it needs, the manifests of its tools too, so a later change of a
// tool or of ratchet never changes it.
//
// Keys, in the tables "tool" and "agent" (<n> has ten digits, so that versions sort):
//   index/<team>/<id>/<n>      what a list shows: digests, times
//   body/<team>/<id>/<n>       the whole
//   serving/<team>/<id>        agents only: the version that new runs get

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/agent.hpp"
#include "runtime/journal.hpp"
#include "runtime/node.hpp"
#include "runtime/time.hpp"

namespace ratchet {

class StoredCatalog final : public AgentCatalog {
 public:
  /// `journal` is borrowed. `models` are those that agents may name.
  StoredCatalog(JournalReader& journal, std::vector<ModelConfig> models);
  ~StoredCatalog() override;

  Result<std::shared_ptr<const AgentVersion>> find(std::string_view team,
                                                   std::string_view agent_id,
                                                   std::uint32_t version) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ratchet
