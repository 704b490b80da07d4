#include "http/config/secrets.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

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
  const auto path = file_of(source);
  if (!path || path->empty()) return path;
  return read_file(*path).and_then([&](std::string bytes) { return checked(std::move(bytes), *path); });
}

Result<std::string> file_of(const KeySource& source) {
  if (source.credential.empty()) return source.file;
  const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
  if (folder == nullptr || source.credential.find('/') != std::string::npos)
    return fail(
        ErrorCode::invalid_request,
        fmt::format("there is no systemd credential '{}' (LoadCredential= sets CREDENTIALS_DIRECTORY)",
                    source.credential));
  return fmt::format("{}/{}", folder, source.credential);
}

Result<SentKeys> read_keys(const ServerConfig& config) {
  SentKeys out;
  std::vector<const KeySource*> sources;
  std::optional<Error> failure;
  const auto read = [&](const KeySource& source, std::string_view whose) {
    sources.push_back(&source);
    auto key = read_key(source);
    if (!key && !failure) failure = Error{key.error().code, fmt::format("{}: {}", whose, key.error().text)};
    return key.value_or(std::string());
  };
  for (const auto& entry : config.models) {
    auto& keys = out.models.emplace_back();
    for (const auto& source : entry.api_keys)
      keys.push_back(read(source, "model " + entry.model.name));
  }
  out.exchange = read(config.identity.exchange.client_secret, "identity.exchange");
  out.authorizer = read(config.authorizer.api_key, "authorizer");
  if (failure) return tl::unexpected(*failure);
  for (const KeySource* source : sources)
    if (!source->env.empty()) unsetenv(source->env.c_str());
  return out;
}

}  // namespace ratchet
