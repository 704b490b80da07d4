// What the shape of the tree promises: includes point one way, technologies stay in their folder, every
// source is built, every folder says what it is for.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

const fs::path root = RATCHET_SOURCE_DIR;
const std::vector<std::string> product = {"runtime", "actors", "store", "sandbox", "http"};
const std::vector<std::string> all = {
    "runtime", "actors", "store", "sandbox", "http", "tests", "bench", "examples"};

struct Source {
  std::string path;  // from the root of the tree
  std::string text;

  bool is_header() const { return path.ends_with(".hpp"); }
};

bool skipped(const fs::path& folder) {
  return folder.filename() == "node_modules" || folder.filename() == "build";
}

std::vector<Source> sources(const std::vector<std::string>& folders) {
  std::vector<Source> out;
  for (const auto& folder : folders) {
    if (!fs::exists(root / folder)) continue;
    for (fs::recursive_directory_iterator at(root / folder), end; at != end; ++at) {
      if (at->is_directory() && skipped(at->path())) at.disable_recursion_pending();
      const auto extension = at->path().extension();
      if (!at->is_regular_file() || (extension != ".hpp" && extension != ".cpp")) continue;
      std::ostringstream text;
      text << std::ifstream(at->path()).rdbuf();
      out.push_back({at->path().lexically_relative(root).generic_string(), text.str()});
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return out;
}

struct Include {
  std::string name;  // without its marks
  bool ours;         // in quotes
};

std::vector<Include> includes(const Source& source) {
  std::vector<Include> out;
  std::istringstream lines(source.text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#include ") || line.size() < 12) continue;
    const bool ours = line[9] == '"';
    const auto end = line.find(ours ? '"' : '>', 10);
    if (end != std::string::npos) out.push_back({line.substr(10, end - 10), ours});
  }
  return out;
}

std::string folder_of(const std::string& path) {
  return path.substr(0, path.find('/'));
}

/// Every include of our product's sources that `is_wrong` finds wrong, one to a line.
std::vector<std::string> wrong_includes(const std::vector<std::string>& folders,
                                        const std::function<bool(const Source&, const Include&)>& is_wrong) {
  std::vector<std::string> out;
  for (const auto& source : sources(folders))
    for (const auto& include : includes(source))
      if (is_wrong(source, include)) out.push_back(source.path + " includes " + include.name);
  return out;
}

TEST(Layout, IncludesPointDownwardOnly) {
  EXPECT_THAT(wrong_includes(product,
                             [](const Source& source, const Include& include) {
                               if (!include.ours || source.path == "http/main.cpp") return false;
                               const auto to = folder_of(include.name);
                               return to != "runtime" && to != folder_of(source.path);
                             }),
              IsEmpty());
}

TEST(Layout, OurIncludesAreWrittenFromTheRootAndExist) {
  EXPECT_THAT(wrong_includes(all,
                             [](const Source&, const Include& include) {
                               return include.ours && !fs::is_regular_file(root / include.name);
                             }),
              IsEmpty());
}

TEST(Layout, EachTechnologyStaysInItsFolder) {
  const std::map<std::string, std::string> home = {{"caf/", "actors"},
                                                   {"lmdb.h", "store"},
                                                   {"zstd.h", "store"},
                                                   {"sodium", "store"},
                                                   {"boost/asio", "http"},
                                                   {"boost/beast", "http"},
                                                   {"curl/", "http"},
                                                   {"cjose/", "http"},
                                                   {"spdlog/", "http"},
                                                   {"CLI/", "http"},
                                                   {"prometheus/", "http"},
                                                   {"yaml-cpp/", "runtime"}};
  EXPECT_THAT(wrong_includes(product,
                             [&](const Source& source, const Include& include) {
                               return std::any_of(home.begin(), home.end(), [&](const auto& entry) {
                                 return include.name.starts_with(entry.first) &&
                                        folder_of(source.path) != entry.second;
                               });
                             }),
              IsEmpty());
}

/// The heavy library that a header of ours includes itself, and, in `deep`, those that it reaches through
/// others.
std::set<std::string> heavy_includes(const std::string& path, bool deep, std::set<std::string>& seen) {
  const std::vector<std::string> heavy = {"caf/",
                                          "boost/",
                                          "simdjson",
                                          "yaml-cpp/",
                                          "spdlog/",
                                          "CLI/",
                                          "prometheus/",
                                          "curl/",
                                          "cjose/",
                                          "lmdb.h",
                                          "zstd.h",
                                          "re2/"};
  static const auto by_path = [] {
    std::map<std::string, std::vector<Include>> out;
    for (const auto& source : sources(product))
      out[source.path] = includes(source);
    return out;
  }();
  std::set<std::string> out;
  const auto found = by_path.find(path);
  if (found == by_path.end() || !seen.insert(path).second) return out;
  for (const auto& include : found->second) {
    if (include.ours && deep) out.merge(heavy_includes(include.name, deep, seen));
    const auto matches = [&](const auto& prefix) { return include.name.starts_with(prefix); };
    const bool light = include.ours || include.name.ends_with("/fwd.hpp");
    if (!light && std::any_of(heavy.begin(), heavy.end(), matches)) out.insert(include.name);
  }
  return out;
}

// A folder may smooth its library in a header for its own sources. What other folders see of it is free of
// heavy headers, which everybody would pay for; a single .cpp may ask for one by name (runtime/json/dom.hpp).
TEST(Layout, HeavyLibrariesStayBehindTheHeadersThatOtherFoldersSee) {
  EXPECT_THAT(wrong_includes(product,
                             [](const Source& source, const Include& include) {
                               if (!include.ours || folder_of(include.name) == folder_of(source.path))
                                 return false;
                               const bool may_ask = !source.is_header() && source.path != "http/main.cpp";
                               std::set<std::string> seen_deep, seen_direct;
                               auto reached = heavy_includes(include.name, true, seen_deep);
                               if (may_ask)
                                 for (const auto& direct : heavy_includes(include.name, false, seen_direct))
                                   reached.erase(direct);
                               return !reached.empty();
                             }),
              IsEmpty());
}

TEST(Layout, EverySourceBelongsToATarget) {
  // Sources are globbed below these folders (ratchet_library, ratchet_test, bench), so a target exists for a
  // source exactly where its folder is named in a CMakeLists.txt.
  std::string compiled;
  {
    std::ostringstream text;
    text << std::ifstream(fs::path(RATCHET_BINARY_DIR) / "compile_commands.json").rdbuf();
    compiled = text.str();
  }
  ASSERT_FALSE(compiled.empty()) << "no compile_commands.json in " << RATCHET_BINARY_DIR;
  std::vector<std::string> orphans;
  for (const auto& source : sources(all)) {
    if (source.is_header() || source.path.starts_with("tests/fuzz/")) continue;
    // The benchmarks are not part of every build; they are checked where they are.
    if (source.path.starts_with("bench/") && compiled.find("/bench/") == std::string::npos) continue;
    if (compiled.find("/" + source.path + "\"") == std::string::npos) orphans.push_back(source.path);
  }
  EXPECT_THAT(orphans, IsEmpty());
}

TEST(Layout, EveryFolderOfSourcesHasAReadmeOfSixToFifteenLines) {
  std::set<std::string> folders;
  for (const auto& source : sources(all))
    folders.insert(fs::path(source.path).parent_path().generic_string());
  std::vector<std::string> wrong;
  for (const auto& folder : folders) {
    std::ifstream readme(root / folder / "README.md");
    const auto lines = std::count(std::istreambuf_iterator<char>(readme), {}, '\n');
    // bench/README.md holds the last figures too.
    if (lines < 6 || (lines > 15 && folder != "bench"))
      wrong.push_back(folder + "/README.md has " + std::to_string(lines) + " lines");
  }
  EXPECT_THAT(wrong, IsEmpty());
}

/// Two definitions of one type are undefined behaviour that no tool of ours reports: the linker keeps one of
/// the functions that both have (their destructors, say) for both.
TEST(Layout, NoTwoHeadersDefineATypeOfTheSameName) {
  std::map<std::string, std::set<std::string>> headers;
  for (const auto& source : sources(product)) {
    if (!source.is_header()) continue;
    std::vector<std::string> spaces;
    std::istringstream lines(source.text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string kind, name, type;
      words >> kind >> name;
      if (line.starts_with("namespace ") && line.ends_with("{")) spaces.push_back(name);
      if (line.starts_with("}  // namespace") && !spaces.empty()) spaces.pop_back();
      const bool defines = (line.starts_with("struct ") || line.starts_with("class ")) && line.ends_with("{");
      if (!defines) continue;
      for (const std::string& space : spaces)
        type += space + "::";
      headers[type + name].insert(source.path);
    }
  }
  std::vector<std::string> wrong;
  for (const auto& [type, where] : headers)
    if (where.size() > 1) wrong.push_back(type + " in " + *where.begin() + " and " + *where.rbegin());
  EXPECT_GT(headers.size(), 200u);
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(Layout, NoFileIsLongerThanOneIdeaCanBe) {
  std::vector<std::string> wrong;
  for (const auto& source : sources(all)) {
    const auto lines = std::count(source.text.begin(), source.text.end(), '\n');
    if (lines > 600) wrong.push_back(source.path + " has " + std::to_string(lines) + " lines");
  }
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(Layout, NoHeaderOpensANamespaceForOthersAndEachIsIncludedOnce) {
  std::vector<std::string> wrong;
  for (const auto& source : sources(all)) {
    if (source.text.find("\nusing namespace ") != std::string::npos)
      wrong.push_back(source.path + ": using namespace");
    if (source.is_header() && !source.text.starts_with("#pragma once\n"))
      wrong.push_back(source.path + ": no #pragma once");
  }
  EXPECT_THAT(wrong, IsEmpty());
}

}  // namespace
