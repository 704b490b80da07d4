#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/builtin.hpp"
#include "runtime/tools/builtin_args.hpp"
#include "runtime/tools/line_reader.hpp"
#include "runtime/tools/pattern.hpp"

namespace ratchet {

namespace {

constexpr FieldRule search_fields[] = {{"artifact_id"}, {"pattern"}, {"max_matches"}, {"context_lines"}};

constexpr std::size_t shown_of_line_bytes = 300;
constexpr std::size_t shown_before_match_bytes = 100;
constexpr std::size_t first_line_bytes_max = 256;

/// What is shown of a line.
struct Excerpt {
  std::size_t begin, end;

  std::string text(std::string_view line) const {
    return (begin > 0 ? "…" : "") + sanitize_utf8(line.substr(begin, end - begin)) +
           (end < line.size() ? "…" : "");
  }
};

Excerpt around(std::string_view line, std::size_t match_begin) {
  if (line.size() <= shown_of_line_bytes) return {0, line.size()};
  const auto begin = cut_bytes(line, match_begin - std::min(match_begin, shown_before_match_bytes));
  return {begin, cut_bytes(line, begin + shown_of_line_bytes)};
}

/// The matches and the lines around them, as long as there is room.
class Listing {
 public:
  Listing(std::size_t bytes_max, std::size_t matches_max, std::size_t context_lines)
      : bytes_max_(bytes_max), matches_max_(matches_max), context_lines_(context_lines) {}

  std::uint64_t found = 0;  ///< matches, shown or not
  std::size_t shown = 0;    ///< of them
  std::uint64_t first_offset = 0;

  void match(const Line& line, const Excerpt& excerpt) {
    if (found++ == 0) first_offset = line.offset + excerpt.begin;
    if (is_full_ || shown == matches_max_) return;
    const bool starts_group =
        context_lines_ > 0 && !text.empty() && line.number > last_number_ + before_.size() + 1;
    std::string entry = starts_group ? "--\n" : "";
    for (const std::string& context : before_)
      entry += context;
    entry += fmt::format("{}:{}:{}\n", line.number, line.offset + excerpt.begin, excerpt.text(line.text));
    before_.clear();
    if (!add(entry)) return;
    ++shown;
    last_number_ = line.number;
    after_left_ = context_lines_;
  }

  void no_match(const Line& line) {
    if (context_lines_ == 0 || !line.is_first_piece || line.number == last_number_) return;
    const Excerpt head = around(line.text, 0);
    auto entry = fmt::format("{}-{}-{}\n", line.number, line.offset, head.text(line.text));
    if (after_left_ > 0) {
      --after_left_;
      if (!is_full_ && add(entry)) last_number_ = line.number;
      return;
    }
    if (before_.size() == context_lines_) before_.pop_front();
    before_.push_back(std::move(entry));
  }

  bool is_full() const { return is_full_; }

  std::string text;

 private:
  bool add(const std::string& entry) {
    is_full_ = text.size() + entry.size() > bytes_max_;
    if (!is_full_) text += entry;
    return !is_full_;
  }

  std::size_t bytes_max_, matches_max_, context_lines_;
  std::deque<std::string> before_;  ///< lines that would stand before a match
  std::size_t after_left_ = 0;      ///< lines that still stand after one
  std::uint64_t last_number_ = 0;   ///< of the last line shown
  bool is_full_ = false;
};

/// Lists the matches in a line or a piece of one, from `searched_to` on, which is an offset in the artifact.
void list_matches(const re2::RE2& pattern, const Line& line, std::uint64_t& searched_to, Listing& listing) {
  const re2::StringPiece text(line.text.data(), line.text.size());
  std::size_t from = searched_to > line.offset ? searched_to - line.offset : 0;
  if (!line.is_first_piece)
    from = std::max<std::size_t>(from, 1);  // so that `^` does not match inside of a line
  bool matched = false;
  re2::StringPiece match;
  while (from <= text.size() && pattern.Match(text, from, text.size(), re2::RE2::UNANCHORED, &match, 1)) {
    const auto begin = static_cast<std::size_t>(match.data() - text.data());
    const Excerpt excerpt = around(line.text, begin);
    listing.match(line, excerpt);
    matched = true;
    from = std::max({excerpt.end, begin + match.size(), begin + 1});
    searched_to = line.offset + from;
    if (excerpt.end == text.size()) break;
  }
  if (!matched) listing.no_match(line);
}

std::string first_line(const Listing& listing, std::uint64_t bytes, std::uint64_t bytes_searched) {
  std::string line =
      bytes_searched < bytes
          ? fmt::format("[Stopped for lack of time after {} of {} bytes: ", bytes_searched, bytes)
          : fmt::format("[Searched {} bytes: ", bytes);
  if (listing.found == 0) return line + "no match.]\n";
  line += fmt::format("{} match{}, the first at offset {}",
                      listing.found,
                      listing.found == 1 ? "" : "es",
                      listing.first_offset);
  if (listing.shown == listing.found) return line + ".]\n";
  return line + fmt::format("; the first {} are shown: {}.]\n",
                            listing.shown,
                            listing.is_full() ? "more do not fit, narrow the pattern or ask for less context"
                                              : "narrow the pattern or raise max_matches");
}

}  // namespace

ToolAnswer artifact_search(const ArtifactSource& source,
                           std::string_view args_json,
                           const ArtifactBounds& bounds) {
  std::string wanted;
  std::size_t matches_max = 0, context_lines = 0;
  const auto error = read_args(args_json, search_fields, [&](ObjectReader& args) {
    args.text("artifact_id", 1, 64);
    wanted = args.text("pattern", 1, limits::pattern_bytes_max);
    matches_max = static_cast<std::size_t>(args.integer("max_matches", 1, limits::search_matches_max, 20));
    context_lines =
        static_cast<std::size_t>(args.integer("context_lines", 0, limits::search_context_lines_max, 0));
  });
  if (error) return invalid_args(*error);
  const auto pattern = compile_pattern(wanted);
  if (!pattern) return {ToolStatus::invalid, "/pattern: " + pattern.error().text};

  const auto answer_max = std::max(bounds.answer_bytes_max, limits::artifact_answer_bytes_min);
  Listing listing(answer_max - first_line_bytes_max, matches_max, context_lines);
  LineReader lines(source);
  Line line;
  std::uint64_t searched_to = 0;  // in the artifact
  std::uint64_t asked_at = 0;
  while (true) {
    const auto read = lines.next(line);
    if (!read) return {ToolStatus::error, "The artifact cannot be read: " + read.error().text + "."};
    if (!*read) break;
    if (line.offset + line.text.size() >= asked_at) {
      if (bounds.stop && bounds.stop())
        return {ToolStatus::timeout, first_line(listing, source.bytes, line.offset) + listing.text};
      asked_at = line.offset + limits::search_line_bytes_max;
    }
    list_matches(**pattern, line, searched_to, listing);
  }
  return {ToolStatus::ok, first_line(listing, source.bytes, source.bytes) + listing.text};
}

}  // namespace ratchet
