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
      if (entry.path().extension() == extension) files.push_back(entry.path());
    if (error) return failed(ExitStatus::usage, fmt::format("{}: {}", path, error.message()));
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) return failed(ExitStatus::usage, "there is no file to verify");
  return files;
}

/// Why the file's run would not be written again as it was; empty: it would.
std::string difference(const fs::path& path) {
  std::ifstream from(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>()};
  if (!from.is_open() || from.bad()) return "it cannot be read";
  const auto file = read_export(bytes);
  if (!file) return file.error().text;
  const auto version = version_of(*file);
  if (!version) return version.error().text;
  const auto run = recorded_run(*file);
  if (!run) return run.error().text;
  const auto divergence = decide_again(*version, *run);
  if (!divergence) return divergence.error().text;
  return *divergence ? fmt::format("event {}:\n  {}", (*divergence)->seq, (*divergence)->text) : "";
}

}  // namespace

Done verify_replays(std::ostream& out, const std::vector<std::string>& paths) {
  const auto files = files_of(paths);
  if (!files) return tl::unexpected(files.error());
  std::size_t differ = 0;
  for (const fs::path& file : *files) {
    const std::string what = difference(file);
    if (what.empty()) continue;
    ++differ;
    out << harmless(fmt::format("{}: {}", file.string(), what)) << "\n";
  }
  out << fmt::format("{} runs, {} would be written otherwise\n", files->size(), differ);
  return differ == 0 ? ExitStatus::done : ExitStatus::ended_otherwise;
}

}  // namespace ratchet::cli
