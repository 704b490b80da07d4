#pragma once
// A run as one self-contained file: its records with the salts of their chain, its artifacts, the definition
// and the manifests it was pinned to. What only the model's provider can read (reasoning) is left out: of
// such an event the file has the hash that the chain holds of its content, and the content without it, so
// that the chain still verifies.
//
//   the line `ratchet export 1`, the SHA-256 (32 bytes) of what follows it, and the tagged fields
//   (event/fields.hpp) of `Export`

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent.hpp"
#include "runtime/event/codec.hpp"
#include "runtime/journal.hpp"
#include "runtime/replay/verify.hpp"

namespace ratchet {

struct ExportedEvent {
  std::uint32_t type = 0;  ///< as in the journal, with its flag
  std::uint64_t seq = 0;
  Timestamp at;
  std::uint32_t step = 0, lease_version = 0;
  Hash content;            ///< SHA-256 of salt and payload, as the chain has it
  std::string payload;     ///< encoded
  bool shortened = false;  ///< `payload` is without reasoning, so `content` is not its hash

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "type", self.type);
    visit(2, "seq", self.seq);
    visit(3, "at", self.at);
    visit(4, "step", self.step);
    visit(5, "lease_version", self.lease_version);
    visit(6, "content", self.content);
    visit(7, "payload", self.payload);
    visit(8, "shortened", self.shortened);
  }
};

struct ExportedRecord {
  std::string salt;  ///< 16 bytes
  std::vector<ExportedEvent> events;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "salt", self.salt);
    visit(2, "events", self.events);
  }
};

struct ExportedArtifact {
  ArtifactRef ref;
  std::string bytes;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "ref", self.ref);
    visit(2, "bytes", self.bytes);
  }
};

struct Export {
  RunId run_id;
  std::string harness_version;  ///< of the server that wrote the file
  Timestamp exported_at;
  Hash head;  ///< of the chain after the last event
  Json definition;
  std::vector<std::string> manifests;
  std::uint32_t agent_version = 0;
  std::vector<ExportedRecord> records;
  std::vector<ExportedArtifact> artifacts;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "run_id", self.run_id);
    visit(2, "harness_version", self.harness_version);
    visit(3, "exported_at", self.exported_at);
    visit(4, "head", self.head);
    visit(5, "definition", self.definition);
    visit(6, "manifests", self.manifests);
    visit(7, "agent_version", self.agent_version);
    visit(8, "records", self.records);
    visit(9, "artifacts", self.artifacts);
  }
};

/// Adds the next record of the run.
void add_record(Export& file, const Record& record);

/// The artifacts that the events of a record refer to, each once over the whole run: `file` has those of the
/// records before.
std::vector<ArtifactRef> artifacts_of(const Export& file, const Record& record);

std::string write_export(const Export& file);

/// Errors: import_refused, for anything that is not such a file whole: another form, damage, a chain that
/// does not hold, an artifact that is not what its event says.
Result<Export> read_export(std::string_view bytes);

/// The run's records as they stand in another journal: a chain of its own, over the contents that the file
/// has. Errors: import_refused.
Result<std::vector<Record>> records_of(const Export& file);

/// The same, as `decide_again` takes it. Errors: import_refused.
Result<RecordedRun> recorded_run(const Export& file);

/// The version that the file pins. Errors: import_refused.
Result<std::shared_ptr<const AgentVersion>> version_of(const Export& file);

}  // namespace ratchet
