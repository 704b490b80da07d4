#include "runtime/context/head.hpp"

#include "runtime/event/fields.hpp"
#include "runtime/model/estimate.hpp"
#include "runtime/model/wire.hpp"

namespace ratchet {

namespace {

/// Everything that the head's bytes depend on.
std::string cache_key(const AgentVersion& agent,
                      const ModelConfig& model,
                      const ModelSettings& settings,
                      std::uint32_t provider) {
  std::string key(agent.definition.digest.view());
  for (const ToolManifest& tool : agent.tools)
    key += tool.digest.view();
  fields::write(model.providers.at(provider), key);
  fields::write(settings, key);
  for (const std::string& parameter : model.sampling)
    key += parameter + ',';
  return key;
}

}  // namespace

std::shared_ptr<const Head> make_head(const AgentVersion& agent,
                                      const ModelConfig& model,
                                      const ModelSettings& settings,
                                      std::uint32_t provider) {
  std::vector<WireTool> tools;
  for (const ToolManifest& tool : agent.tools)
    tools.push_back({tool.name, tool.description, tool.input_schema.text});
  WirePiece piece = render_head(
      model.providers.at(provider), settings, model.sampling, agent.definition.system_prompt, tools);
  auto head = std::make_shared<Head>();
  head->plain.add(piece.bytes);
  head->estimated_tokens = estimate_tokens(piece.bytes);
  for (auto mark = piece.marks.rbegin(); mark != piece.marks.rend(); ++mark)
    piece.bytes.insert(*mark, cache_mark);
  head->sent.add(piece.bytes);
  head->bytes = std::make_shared<const std::string>(std::move(piece.bytes));
  return head;
}

std::shared_ptr<const Head> HeadCache::get(const AgentVersion& agent,
                                           const ModelConfig& model,
                                           const ModelSettings& settings,
                                           std::uint32_t provider) {
  const std::string key = cache_key(agent, model, settings, provider);
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const Head>& slot = heads_[key];
  if (auto head = slot.lock()) return head;
  auto head = make_head(agent, model, settings, provider);
  slot = head;
  std::erase_if(heads_, [](const auto& each) { return each.second.expired(); });
  return head;
}

}  // namespace ratchet
