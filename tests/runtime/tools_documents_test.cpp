// What we show is what is taken: the definitions in docs/definitions.md and in examples/.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>

#include "runtime/agent.hpp"
#include "runtime/tools/manifest.hpp"
#include "runtime/tools/policy.hpp"
#include "runtime/yaml.hpp"

namespace ratchet {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Definitions {
  std::vector<AgentDefinition> agents;
  std::vector<ToolManifest> tools = builtin_manifests();
};

void take(const std::string& yaml, const std::string& where, Definitions& into) {
  const auto document = parse_yaml(yaml);
  ASSERT_TRUE(document) << where << ": " << document.error().text;
  if (document->json.find("\"agent_id\"") != std::string::npos) {
    const auto agent = parse_agent(document->json);
    ASSERT_TRUE(agent) << where << ": " << document->at_line(agent.error()).text;
    into.agents.push_back(*agent);
  } else {
    const auto tool = parse_manifest(document->json);
    ASSERT_TRUE(tool) << where << ": " << document->at_line(tool.error()).text;
    into.tools.push_back(*tool);
  }
}

void expect_served(const Definitions& definitions) {
  EXPECT_FALSE(definitions.agents.empty());
  for (const auto& agent : definitions.agents) {
    const auto checked = check_agent(agent, definitions.tools);
    EXPECT_TRUE(checked) << agent.agent_id << ": " << (checked ? "" : checked.error().text);
  }
}

TEST(Documents, TheDefinitionsInTheDocumentationAreTaken) {
  std::istringstream lines(read_file(fs::path(RATCHET_SOURCE_DIR) / "docs/definitions.md"));
  Definitions definitions;
  std::string yaml;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      if (inside) take(yaml, "docs/definitions.md", definitions);
      inside = line == "```yaml";
      yaml.clear();
    } else if (inside) {
      yaml += line + "\n";
    }
  }
  EXPECT_GT(definitions.tools.size(), builtin_manifests().size());
  expect_served(definitions);
}

TEST(Documents, TheExamplesAreTaken) {
  Definitions definitions;
  for (const auto& entry : fs::directory_iterator(fs::path(RATCHET_SOURCE_DIR) / "examples"))
    if (entry.path().extension() == ".yaml")
      take(read_file(entry.path()), entry.path().string(), definitions);
  expect_served(definitions);
}

}  // namespace
}  // namespace ratchet
