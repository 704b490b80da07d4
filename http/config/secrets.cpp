#include "http/config/secrets.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace ratchet {

namespace {

constexpr std::size_t key_bytes_max = 8u << 10;  // some gateways hand out signed tokens

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(key_bytes_max + 1, '\0');
  // A folder opens too; reading it is what fails.
  if (!file || (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())) && !file.eof()))
    return fail(ErrorCode::invalid_request, fmt::format("the API key file {} cannot be read", path));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

/// Anything else could not stand in a header, or would end it early.
Result<std::string> checked(std::string key, std::string_view source) {
  constexpr std::string_view space = " \t\r\n";
  key.erase(0, std::min(key.find_first_not_of(space), key.size()));
  key.erase(key.find_last_not_of(space) + 1);
  if (key.empty()) return fail(ErrorCode::invalid_request, fmt::format("the API key in {} is empty", source));
  const auto visible = [](char c) { return c > ' ' && c < '\x7f'; };
  if (key.size() > key_bytes_max || !std::all_of(key.begin(), key.end(), visible))
    return fail(ErrorCode::invalid_request,
                fmt::format("the API key in {} is not one line of at most {} visible ASCII characters",
                            source,
                            key_bytes_max));
  return key;
}

}  // namespace

Result<std::string> read_key(const KeySource& source) {
  if (!source.env.empty()) {
    const char* value = std::getenv(source.env.c_str());
    if (value == nullptr)
      return fail(ErrorCode::invalid_request,
                  fmt::format("the environment variable {} is not set", source.env));
    return checked(value, source.env);
  }
  std::string path = source.file;
  if (!source.credential.empty()) {
    const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
    if (folder == nullptr || source.credential.find('/') != std::string::npos)
      return fail(
          ErrorCode::invalid_request,
          fmt::format("there is no systemd credential '{}' (LoadCredential= sets CREDENTIALS_DIRECTORY)",
                      source.credential));
    path = fmt::format("{}/{}", folder, source.credential);
  }
  if (path.empty()) return std::string();
  return read_file(path).and_then([&](std::string bytes) { return checked(std::move(bytes), path); });
}

Result<std::vector<std::vector<std::string>>> read_keys(const std::vector<ModelEntry>& models) {
  std::vector<std::vector<std::string>> out;
  for (const auto& entry : models) {
    auto& keys = out.emplace_back();
    for (const auto& source : entry.api_keys) {
      auto key = read_key(source);
      if (!key)
        return fail(key.error().code, fmt::format("model {}: {}", entry.model.name, key.error().text));
      keys.push_back(std::move(*key));
    }
  }
  for (const auto& entry : models)
    for (const auto& source : entry.api_keys)
      if (!source.env.empty()) unsetenv(source.env.c_str());
  return out;
}

}  // namespace ratchet
