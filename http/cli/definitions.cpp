#include "http/cli/definitions.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "http/config/place.hpp"
#include "runtime/agent.hpp"
#include "runtime/json/canonical.hpp"
#include "runtime/json/dom.hpp"
#include "runtime/tools/manifest.hpp"

namespace ratchet::cli {

namespace {

namespace fs = std::filesystem;

/// The documents of a file, each behind as many empty lines as came before it, so that places stay right. A
/// line that begins with `---` ends a document, whatever that is in the middle of (YAML 1.2, 9.1.2).
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out(1);
  bool says_something = false;
  std::istringstream lines(text);
  std::string blank;
  for (std::string line; std::getline(lines, line);) {
    blank += '\n';
    if (line.starts_with("---") && line.find_first_not_of(" \t\r", 3) == std::string::npos) {
      if (says_something) out.emplace_back();
      out.back() = blank;
      says_something = false;
      continue;
    }
    out.back() += line + "\n";
    const auto first = line.find_first_not_of(" \t\r");
    says_something = says_something || (first != std::string::npos && line[first] != '#');
  }
  if (!says_something) out.pop_back();
  return out;
}

std::string with_code(const std::string& file, const Error& error) {
  return fmt::format("{} ({})", in_file(file, error), name(error.code));
}

/// What the document is, and whether a server of this version takes it.
Result<void> check(Definition& definition) {
  auto canonical = canonical_json(definition.document.json);
  if (!canonical) return tl::unexpected(canonical.error());
  definition.json = *canonical;
  const auto json = parse_json(*canonical);
  if (!json) return tl::unexpected(json.error());
  const auto* object = json->if_object();
  const bool agent = object != nullptr && object->contains("agent_id");
  const bool tool = object != nullptr && object->contains("name");
  if (!agent && !tool)
    return fail(ErrorCode::invalid_definition,
                "neither an agent (it has no agent_id) nor a tool (it has no name)");
  if (agent) {
    auto parsed = parse_agent(*canonical);
    if (!parsed) return tl::unexpected(parsed.error());
    definition.kind = Definition::Kind::agent;
    definition.id = parsed->agent_id;
  } else {
    auto parsed = parse_manifest(*canonical);
    if (!parsed) return tl::unexpected(parsed.error());
    definition.kind = Definition::Kind::tool;
    definition.id = parsed->name;
  }
  return {};
}

void load_file(const std::string& file, std::vector<Definition>& out, std::string& errors) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream bytes;
  if (!in || !(bytes << in.rdbuf())) {
    errors += fmt::format("{}: cannot be read, or is empty\n", file);
    return;
  }
  for (const auto& document : split(bytes.str())) {
    auto yaml = parse_yaml(document);
    if (!yaml) {
      errors += with_code(file, yaml.error()) + "\n";
      continue;
    }
    Definition definition;
    definition.file = file;
    definition.document = std::move(*yaml);
    if (auto done = check(definition); !done)
      errors += definition.explain(done.error()) + "\n";
    else
      out.push_back(std::move(definition));
  }
}

bool is_definition_file(const fs::directory_entry& entry) {
  const auto extension = entry.path().extension();
  return entry.is_regular_file() && (extension == ".yaml" || extension == ".yml" || extension == ".json");
}

}  // namespace

std::string Definition::explain(const Error& error) const {
  return with_code(file, document.at_line(error));
}

Outcome<std::vector<Definition>> load_definitions(const std::string& path) {
  std::error_code error;
  std::vector<std::string> files;
  if (fs::is_directory(path, error)) {
    for (const auto& entry : fs::directory_iterator(path, error))
      if (is_definition_file(entry)) files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
  } else if (fs::exists(path, error)) {
    files.push_back(path);
  }
  if (error || files.empty())
    return failed(ExitStatus::not_found, fmt::format("{}: there is no file of agents or tools here", path));

  std::vector<Definition> out;
  std::string errors;
  for (const auto& file : files)
    load_file(file, out, errors);
  if (!errors.empty()) {
    errors.pop_back();
    return failed(ExitStatus::usage, errors);
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.kind < b.kind; });
  return out;
}

}  // namespace ratchet::cli
