#pragma once
// What a server does once, around its life: signals, descriptors, its address for others, its first agents.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "http/catalog.hpp"
#include "http/config/listen.hpp"
#include "http/config/server_config.hpp"
#include "runtime/node.hpp"
#include "runtime/redact/redactor.hpp"
#include "runtime/result.hpp"

namespace ratchet {

/// SIGTERM and SIGINT, as something to wait for.
class StopSignals {
 public:
  /// Blocks them for this thread and all that it starts: made before there are others. SIGPIPE is ignored, a
  /// vanished reader is an error of the write.
  StopSignals();

  /// Waits for the first of them, or until `done` says so; asks every few milliseconds. True: a signal came.
  bool wait_or(const std::function<bool()>& done);
  /// Waits for the first of them, or so long. True: it came.
  bool wait_for(std::int64_t ms);
  /// Waits for the first of them. From then on a second one ends the process at once, as a crash would.
  void wait();

 private:
  bool came_ = false;
};

/// Removes what a server before has written there, which nobody answers any more. Called once the directory
/// is ours.
void remove_listen_file(const std::string& data_dir);

/// Writes `host:port` to <data_dir>/listen, whole or not at all. Errors: store_unavailable.
Result<void> write_listen_file(const std::string& data_dir, const ListenAddress& address);

/// What is hidden from what leaves the process: by the rules in the file, or by our own if there is none.
/// Errors: not_found, invalid_request, unknown_field, not_supported; with the path.
Result<std::shared_ptr<const Redactor>> load_redactor(const std::string& rules_file);

/// Registers what the files at `path` define, for each team; what is there already stays. Blocks until it is
/// durable. Errors: invalid_definition, with the place in the file; not_found; those of the node.
Result<void> register_files(const std::string& path,
                            const std::vector<std::string>& teams,
                            StoredCatalog& catalog,
                            Node& node,
                            Clock& clock);

}  // namespace ratchet
