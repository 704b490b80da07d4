// From a scenario and a request to what is said.

#include <algorithm>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "http/client/scenario.hpp"
#include "http/client/scenario_request.hpp"
#include "runtime/json/canonical.hpp"
#include "runtime/json/dom.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

namespace json = boost::json;

constexpr std::size_t bytes_per_token = 4;  // where the scenario says no usage
constexpr std::size_t made_up_goal_bytes_max = 500;

Result<const Scenario*> choose(const ScenarioFile& file, ScenarioRequest& request) {
  for (const Scenario& scenario : file.scenarios) {
    if (scenario.input_contains.empty()) return &scenario;
    const auto input = request.input();
    if (!input) return tl::unexpected(input.error());
    if (input->find(scenario.input_contains) != std::string::npos) return &scenario;
  }
  return fail(ErrorCode::not_found, "no scenario matches the input");
}

/// Fills the strings of a value; one that is a placeholder of a number becomes that number.
Result<void> fill(json::value& value, ScenarioRequest& request) {
  if (value.is_string()) {
    const std::string text(value.get_string());
    auto filled = request.fill(text);
    if (!filled) return tl::unexpected(filled.error());
    if (!is_number_placeholder(text)) {
      value = *filled;
      return {};
    }
    auto number = parse_json(*filled);
    if (!number || !number->is_number())
      return fail(ErrorCode::invalid_request, fmt::format("{}: '{}' is no number", text, *filled));
    value = std::move(*number);
  } else if (value.is_array()) {
    for (json::value& item : value.get_array())
      if (auto done = fill(item, request); !done) return done;
  } else if (value.is_object()) {
    for (auto& [key, member] : value.get_object())
      if (auto done = fill(member, request); !done) return done;
  }
  return {};
}

Result<std::string> fill_args(const std::string& args, ScenarioRequest& request) {
  if (args.find("{{") == std::string::npos) return args;
  auto value = parse_json(args);
  if (!value) return tl::unexpected(value.error());
  if (auto done = fill(*value, request); !done) return tl::unexpected(done.error());
  std::string out;
  append_json(out, *value);
  return canonical_object(out);
}

Usage usage_of(const ScenarioRequest& request, std::size_t output_bytes) {
  return {static_cast<std::int64_t>(request.bytes() / bytes_per_token),
          0,
          0,
          static_cast<std::int64_t>(output_bytes / bytes_per_token)};
}

Result<ModelReply> reply_of(const ScenarioStep& step, bool past_the_end, ScenarioRequest& request) {
  ModelReply reply;
  auto text = request.fill(step.say);
  if (!text) return tl::unexpected(text.error());
  std::size_t output_bytes = text->size();
  if (!text->empty()) {
    ReplyBlock block;
    block.text = std::move(*text);
    reply.content.push_back(std::move(block));
  }
  for (const ScenarioCall& call : step.calls) {
    if (past_the_end) break;
    auto args = fill_args(call.args, request);
    if (!args) return tl::unexpected(args.error());
    output_bytes += call.tool.size() + args->size();
    ReplyBlock block;
    block.type = ReplyBlockType::call;
    block.tool = call.tool;
    block.args = std::move(*args);
    reply.content.push_back(std::move(block));
    reply.stop = ModelStop::tool_use;
  }
  reply.usage = step.usage.value_or(usage_of(request, output_bytes));
  reply.usage_reported = true;
  return reply;
}

/// `count` pieces of about the same size, cut between code points; fewer where the text is short.
std::vector<std::string> split(std::string_view text, std::size_t count) {
  std::vector<std::string> chunks;
  while (!text.empty()) {
    const std::size_t wanted = (text.size() + count - 1) / count;
    const std::size_t size = std::max({utf8_cut(text, wanted), utf8_length(text), std::size_t{1}});
    chunks.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
    count = std::max<std::size_t>(count - 1, 1);
  }
  return chunks;
}

ScenarioReply rejection(std::string_view where, const Error& error) {
  ScenarioReply reply;
  ModelFailure failure;
  failure.kind = FailureClass::rejected;
  failure.text = fmt::format("{}{}", where, error.text);
  failure.text.resize(utf8_cut(failure.text, limits::error_text_bytes_max));
  reply.value = std::move(failure);
  return reply;
}

/// A compaction asks for a hand-over note, whatever the step is about.
Result<ModelReply> note_of(const Scenario& scenario, ScenarioRequest& request) {
  ScenarioStep step;
  step.say = scenario.note;
  if (step.say.empty()) {
    const auto input = request.input();
    if (!input) return tl::unexpected(input.error());
    const std::string goal = input->substr(0, utf8_cut(*input, made_up_goal_bytes_max));
    ReplyBlock block;
    block.text = fmt::format("## Goal\n{}\n## Next\nGo on.", goal);
    ModelReply reply;
    reply.usage = usage_of(request, block.text.size());
    reply.usage_reported = true;
    reply.content.push_back(std::move(block));
    return reply;
  }
  return reply_of(step, false, request);
}

}  // namespace

ScenarioReply play(const ScenarioFile& file, const ModelCall& call) {
  ScenarioRequest request(call.body);
  const auto scenario = choose(file, request);
  if (!scenario) return rejection("scenario file: ", scenario.error());
  if (call.purpose == CallPurpose::compaction) {
    auto note = note_of(**scenario, request);
    if (!note) return rejection(fmt::format("scenario '{}', note: ", (*scenario)->name), note.error());
    ScenarioReply reply;
    reply.value = std::move(*note);
    return reply;
  }
  const auto& steps = (*scenario)->steps;
  const bool past_the_end = call.step > steps.size();
  const ScenarioStep& step = steps[std::min<std::size_t>(std::max(call.step, 1u), steps.size()) - 1];

  auto said = reply_of(step, past_the_end, request);
  if (!said)
    return rejection(fmt::format("scenario '{}', step {}: ", (*scenario)->name, call.step), said.error());
  ScenarioReply reply;
  reply.latency_ms = step.latency_ms;
  if (!said->content.empty() && said->content[0].type == ReplyBlockType::text)
    reply.chunks = split(said->content[0].text, step.chunks);
  if (call.attempt <= step.fault.times && !past_the_end) {
    reply.chunks.resize(std::min<std::size_t>(reply.chunks.size(), step.fault.after_chunks));
    reply.value = step.fault.failure;
  } else {
    reply.value = std::move(*said);
  }
  return reply;
}

}  // namespace ratchet
