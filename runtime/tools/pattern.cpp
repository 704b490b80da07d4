#include "runtime/tools/pattern.hpp"

#include <fmt/format.h>

#include "runtime/limits.hpp"

namespace ratchet {

Result<std::unique_ptr<re2::RE2>> compile_pattern(std::string_view pattern) {
  if (pattern.size() > limits::pattern_bytes_max)
    return fail(
        ErrorCode::invalid_request,
        fmt::format(
            "the pattern has {} bytes; at most {} are taken", pattern.size(), limits::pattern_bytes_max));
  return compile_re2(pattern);
}

Result<std::unique_ptr<re2::RE2>> compile_re2(std::string_view pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(limits::pattern_memory_max);
  auto compiled = std::make_unique<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!compiled->ok())
    return fail(ErrorCode::invalid_request, "not a regular expression that RE2 takes: " + compiled->error());
  return compiled;
}

}  // namespace ratchet
