#pragma once
// Agents and tools in files: YAML or JSON, several documents to a file (separated by lines of `---`).

#include <string>
#include <vector>

#include "http/cli/outcome.hpp"
#include "runtime/result.hpp"
#include "runtime/yaml.hpp"

namespace ratchet::cli {

struct Definition {
  enum class Kind { tool, agent };

  Kind kind = Kind::tool;
  std::string id;    ///< the agent's id or the tool's name
  std::string json;  ///< as the API takes it
  std::string file;
  YamlDocument document;  ///< places in it are those of the file

  /// `file:line:column: text (code)`, the place being that of the error's pointer.
  std::string explain(const Error& error) const;
};

/// Reads a file, or the files of a folder that end in .yaml, .yml or .json (not those of folders in it), and
/// checks each document as a server of this version will. Tools come first, so that agents find them.
/// Failures: usage, with one line for each document that is wrong; not_found.
Outcome<std::vector<Definition>> load_definitions(const std::string& path);

}  // namespace ratchet::cli
