#pragma once
// How events and previews stand in a stream: those of the run that was asked for with their seq as `id`,
// those of runs below it with their `run_id` and without `id`, so that a client's last id is always of its
// own run.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/server/message.hpp"
#include "runtime/ids.hpp"
#include "runtime/tools/output_preview.hpp"

namespace ratchet {

/// A preview of the reply to one attempt.
struct Delta {
  std::uint32_t step = 0, attempt = 0;
  std::uint64_t index = 0;
  std::string text;

  std::pair<std::uint32_t, std::uint32_t> call() const { return {step, attempt}; }
};

/// `{"seq":…}` with `"run_id":…` as its first member.
std::string with_run_id(const RunId& run, std::string_view json);

class EventFrames {
 public:
  /// `below`: the run, where it is not the one that was asked for.
  explicit EventFrames(const std::optional<RunId>& below);

  /// Appends a whole frame.
  void write(std::uint64_t seq, std::string_view type, std::string_view json, std::string& out) const;
  /// The same; `json` lives as long as `owner`.
  void write(std::uint64_t seq,
             std::string_view type,
             std::string_view json,
             std::shared_ptr<const void> owner,
             Pieces& out) const;
  std::string frame(const Delta& delta) const;
  std::string frame(const ToolOutput& output) const;

 private:
  std::string head(std::uint64_t seq, std::string_view type) const;
  /// `of`: the member that says what it is a preview of.
  std::string preview(std::string_view type,
                      std::string_view of,
                      std::uint32_t attempt,
                      std::uint64_t index,
                      std::string_view text) const;

  std::string run_member_;  ///< empty, or the member that names the run, with its comma
};

}  // namespace ratchet
