#pragma once
// What stands on the command line of `ratchet serve`, and the configuration that it makes together with the
// file.

#include <optional>
#include <string>

#include "http/config/server_config.hpp"
#include "runtime/result.hpp"

namespace ratchet {

struct ServeOptions {
  std::string config_file;  ///< empty: all defaults
  std::optional<std::string> listen, data_dir;
  bool dev = false;
  std::string agents;  ///< a file or folder of definitions that is applied at the start; empty: none
  std::string model_url, model_protocol = "openai", model_name;
  bool log_json = false;
};

/// The file, what the command line says instead, and `default`, the model of --model-url. Errors: those of
/// `load_config`, of `model_from_url`, and of `check_exposure`.
Result<ServerConfig> resolve(const ServeOptions& options);

}  // namespace ratchet
