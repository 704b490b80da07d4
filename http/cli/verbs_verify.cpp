// Recorded runs against the rules of this build.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>

#include <fmt/format.h>

#include "http/cli/verbs.hpp"
#include "runtime/replay/export.hpp"

namespace ratchet::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view extension = ".ratchet";

Outcome<std::vector<fs::path>> files_of(const std::vector<std::string>& paths) {
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(path, error))
      if (entry.path().extension() == extension && entry.is_regular_file()) files.push_back(entry.path());
    if (error) return failed(ExitStatus::usage, fmt::format("{}: {}", path, error.message()));
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) return failed(ExitStatus::usage, "there is no file to verify");
  return files;
}

/// What the file's run would be written otherwise; nothing: it would be written as it was. Errors:
/// not_replayable, of a run that cannot be decided again; import_refused, of what is no whole record of one.
Result<std::optional<Divergence>> difference(const fs::path& path) {
  std::ifstream from(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>()};
  if (!from.is_open() || from.bad()) return fail(ErrorCode::import_refused, "it cannot be read");
  const auto file = read_export(bytes);
  if (!file) return tl::unexpected(file.error());
  const auto version = version_of(*file);
  if (!version) return tl::unexpected(version.error());
  const auto run = recorded_run(*file);
  if (!run) return tl::unexpected(run.error());
  return decide_again(*version, *run);
}

}  // namespace

Done verify_replays(std::ostream& out, const std::vector<std::string>& paths) {
  const auto files = files_of(paths);
  if (!files) return tl::unexpected(files.error());
  std::size_t differ = 0, passed_over = 0, no_record = 0;
  for (const fs::path& file : *files) {
    const auto divergence = difference(file);
    if (divergence && !*divergence) continue;
    std::string what;
    if (divergence) {
      ++differ;
      what = fmt::format("event {}:\n  {}", (*divergence)->seq, (*divergence)->text);
    } else {
      ++(divergence.error().code == ErrorCode::not_replayable ? passed_over : no_record);
      what = divergence.error().text;
    }
    out << harmless(fmt::format("{}: {}", file.string(), what)) << "\n";
  }
  out << fmt::format(
      "{} runs, {} would be written otherwise", files->size() - passed_over - no_record, differ);
  if (passed_over > 0) out << fmt::format("; {} passed over", passed_over);
  if (no_record > 0) out << fmt::format("; {} files hold no run", no_record);
  out << "\n";
  if (differ > 0) return ExitStatus::ended_otherwise;
  return no_record > 0 ? ExitStatus::usage : ExitStatus::done;
}

}  // namespace ratchet::cli
