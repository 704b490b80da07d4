#include <algorithm>

#include <fmt/format.h>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/builtin.hpp"
#include "runtime/tools/builtin_args.hpp"

namespace ratchet {

namespace {

constexpr FieldRule read_fields[] = {{"artifact_id"}, {"offset"}, {"limit"}};

/// A code point has at most four bytes: with three more on either side none is cut by a read.
constexpr std::size_t margin_bytes = 3;
constexpr std::size_t first_line_bytes_max = 128;

/// How far before `at` the code point begins that `at` lies inside of; 0: it lies inside of none.
std::size_t bytes_into_code_point(std::string_view text, std::size_t at) {
  for (std::size_t back = 1; back <= std::min(margin_bytes, at); ++back)
    if (utf8_length(text.substr(at - back)) > back) return back;
  return 0;
}

/// The longest run of whole code points in `text` that ends by `limit` and is shown in `shown_bytes_max`; one
/// code point at least. Appends it to `shown`, and returns its length in `text`.
std::size_t append_whole(std::string& shown,
                         std::string_view text,
                         std::size_t limit,
                         std::size_t shown_bytes_max) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto rest = text.substr(at);
    const auto valid = utf8_length(rest);
    const auto length = valid > 0 ? valid : utf8_mistake_length(rest);
    const auto piece = valid > 0 ? rest.substr(0, valid) : replacement_character;
    if (at > 0 && (at + length > limit || shown.size() + piece.size() > shown_bytes_max)) break;
    shown += piece;
    at += length;
    if (at >= limit) break;
  }
  return at;
}

}  // namespace

ArtifactSource memory_source(std::string_view bytes) {
  return {bytes.size(), [bytes](std::uint64_t offset, std::size_t limit) -> Result<std::string> {
            return std::string(bytes.substr(std::min<std::size_t>(offset, bytes.size()), limit));
          }};
}

Result<std::string> artifact_of(std::string_view args_json) {
  const auto args = parse_json(args_json);
  if (!args) return fail(ErrorCode::invalid_request, args.error().text);
  const auto* object = args->if_object();
  const auto* id = object ? object->if_contains("artifact_id") : nullptr;
  if (!id || !id->is_string())
    return fail(ErrorCode::invalid_request, "the field artifact_id is required (a string)");
  return std::string(id->get_string());
}

ToolAnswer artifact_read(const ArtifactSource& source,
                         std::string_view args_json,
                         const ArtifactBounds& bounds) {
  std::uint64_t offset = 0;
  std::size_t limit = 0;
  const std::size_t shown_max =
      std::max(bounds.answer_bytes_max, limits::artifact_answer_bytes_min) - first_line_bytes_max;
  const auto error = read_args(args_json, read_fields, [&](ObjectReader& args) {
    args.text("artifact_id", 1, 64);
    offset = static_cast<std::uint64_t>(args.integer("offset", 0, INT64_MAX, 0));
    limit =
        static_cast<std::size_t>(args.integer("limit", 1, INT64_MAX, static_cast<std::int64_t>(shown_max)));
  });
  if (error) return invalid_args(*error);
  if (offset >= source.bytes && offset > 0)
    return {ToolStatus::error,
            fmt::format("There is nothing at offset {}: the artifact has {} bytes.", offset, source.bytes)};

  limit = std::min(limit, shown_max);
  const auto before = static_cast<std::size_t>(std::min<std::uint64_t>(offset, margin_bytes));
  const auto bytes = source.read(offset - before, before + limit + margin_bytes);
  if (!bytes) return {ToolStatus::error, "The artifact cannot be read: " + bytes.error().text + "."};
  const auto into = bytes_into_code_point(*bytes, before);
  std::string shown;
  const auto length =
      append_whole(shown, std::string_view(*bytes).substr(before - into), limit + into, shown_max);
  const std::uint64_t begin = offset - into, end = begin + length;
  const auto how = end < source.bytes ? fmt::format("go on with offset {}", end) : "this is the end";
  return {ToolStatus::ok,
          fmt::format("[bytes {} to {} of {}; {}]\n{}", begin, end, source.bytes, how, shown)};
}

}  // namespace ratchet
