#pragma once
// The server's configuration file.

#include <string>
#include <string_view>
#include <vector>

#include "http/config/server_config.hpp"
#include "runtime/result.hpp"

namespace ratchet {

/// Reads a configuration from YAML. Paths in it stay as they are written. Errors: invalid_yaml,
/// unknown_field, invalid_request, not_supported; the text begins with `line N, column M: `.
Result<ServerConfig> parse_config(std::string_view yaml);

/// Reads a file; relative paths of key files and scenarios in it are taken from the file's folder, `data_dir`
/// from the working directory. Errors as above, the text begins with `path:N:M: `; not_found.
Result<ServerConfig> load_config(const std::string& path);

/// A key as `--help-config` shows it.
struct ConfigKey {
  std::string path;      ///< models.<name>.providers[].protocol
  std::string standard;  ///< the default as YAML; empty: the key must be given
  std::string meaning;
};

/// In the order of the file.
std::vector<ConfigKey> config_keys();

/// Every key with its default and its meaning, for `--help-config`.
std::string config_help();

/// A model without a file, as `serve --model-url` adds it: the key comes from ANTHROPIC_API_KEY or
/// OPENAI_API_KEY, where that is set. Errors: invalid_request.
Result<ModelEntry> model_from_url(std::string_view url, std::string_view protocol, std::string_view model);

}  // namespace ratchet
