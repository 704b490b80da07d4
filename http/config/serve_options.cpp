#include "http/config/serve_options.hpp"

#include <algorithm>

#include "http/config/listen.hpp"
#include "http/config/parse.hpp"

namespace ratchet {

Result<ServerConfig> resolve(const ServeOptions& options) {
  ServerConfig config;
  if (!options.config_file.empty()) {
    auto loaded = load_config(options.config_file);
    if (!loaded) return loaded;
    config = std::move(*loaded);
  }
  if (options.listen) config.listen = *options.listen;
  if (options.data_dir) config.data_dir = *options.data_dir;
  if (!options.model_url.empty()) {
    auto entry = model_from_url(options.model_url, options.model_protocol, options.model_name);
    if (!entry) return tl::unexpected(entry.error());
    // The command line is closer to the user than a file.
    std::erase_if(config.models, [](const ModelEntry& other) { return other.model.name == "default"; });
    config.models.push_back(std::move(*entry));
  }
  if (auto allowed = check_exposure(config, options.dev); !allowed) return tl::unexpected(allowed.error());
  return config;
}

}  // namespace ratchet
