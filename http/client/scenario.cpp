#include "http/client/scenario.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "http/client/scenario_request.hpp"
#include "runtime/definition_reader.hpp"
#include "runtime/json/dom.hpp"
#include "runtime/limits.hpp"
#include "runtime/model/provider_error.hpp"
#include "runtime/pointer.hpp"
#include "runtime/yaml.hpp"

namespace ratchet {

namespace {

namespace json = boost::json;

constexpr std::array file_rules{FieldRule{"scenarios"}, FieldRule{"steps"}, FieldRule{"note"}};
constexpr std::array scenario_rules{
    FieldRule{"name"}, FieldRule{"when"}, FieldRule{"steps"}, FieldRule{"note"}};
constexpr std::array when_rules{FieldRule{"input_contains"}};
constexpr std::array step_rules{FieldRule{"say"},
                                FieldRule{"call"},
                                FieldRule{"usage"},
                                FieldRule{"latency_ms"},
                                FieldRule{"chunks"},
                                FieldRule{"fail"}};
constexpr std::array call_rules{FieldRule{"tool"}, FieldRule{"args"}};
constexpr std::array usage_rules{FieldRule{"input_tokens"},
                                 FieldRule{"cached_input_tokens"},
                                 FieldRule{"cache_write_tokens"},
                                 FieldRule{"output_tokens"}};
constexpr std::array fail_rules{FieldRule{"times"},
                                FieldRule{"status"},
                                FieldRule{"class"},
                                FieldRule{"retry_after_ms"},
                                FieldRule{"after_chunks"}};

/// Calls `visit(text, pointer)` for each string of a value.
template <class Value, class Visit>
void each_string(Value& value, const std::string& pointer, Visit&& visit) {
  if (value.is_string()) visit(value, pointer);
  if (value.is_array())
    for (std::size_t i = 0; i < value.get_array().size(); ++i)
      each_string(value.get_array()[i], pointer_to(pointer, std::to_string(i)), visit);
  if (value.is_object())
    for (auto& [key, inner] : value.get_object())
      each_string(inner, pointer_to(pointer, std::string_view(key)), visit);
}

class ScenarioReader {
 public:
  Result<ScenarioFile> read(const json::value& document) {
    ObjectReader file(document, "", file_rules, error_);
    ScenarioFile out;
    if (file.has("steps") == file.has("scenarios")) {
      file.invalid("", "a scenario file has either 'steps' or 'scenarios'");
    } else if (file.has("steps")) {
      out.scenarios.push_back({"", "", read_note(file), read_steps(file, "")});
    } else if (file.has("note")) {
      file.invalid("note", "a note belongs to one of the scenarios");
    } else {
      const auto items = file.array("scenarios", limits::scenarios_max);
      for (std::size_t i = 0; i < items.size(); ++i)
        out.scenarios.push_back(read_scenario(file.item(*items[i], "scenarios", i, scenario_rules),
                                              fmt::format("/scenarios/{}", i)));
      if (items.empty()) file.invalid("scenarios", "there is no scenario");
    }
    if (error_) return tl::unexpected(std::move(*error_));
    return out;
  }

 private:
  Scenario read_scenario(ObjectReader reader, const std::string& pointer) {
    Scenario scenario;
    scenario.name = reader.text("name", 1, 100);
    if (reader.has("when"))
      scenario.input_contains =
          reader.object("when", when_rules).text("input_contains", 1, limits::scenario_text_bytes_max);
    scenario.note = read_note(reader);
    scenario.steps = read_steps(reader, pointer);
    return scenario;
  }

  static std::string read_note(ObjectReader& reader) {
    std::string note = reader.text("note", 0, limits::scenario_text_bytes_max, "");
    check_text(reader, "note", note);
    return note;
  }

  std::vector<ScenarioStep> read_steps(ObjectReader& reader, const std::string& pointer) {
    std::vector<ScenarioStep> steps;
    const auto items = reader.array("steps", limits::scenario_steps_max, true);
    for (std::size_t i = 0; i < items.size(); ++i)
      steps.push_back(
          read_step(reader.item(*items[i], "steps", i, step_rules), fmt::format("{}/steps/{}", pointer, i)));
    if (steps.empty())
      reader.invalid("steps", "there is no step");
    else if (steps.back().say.empty())
      reader.invalid(fmt::format("steps/{}", steps.size() - 1),
                     "the last step needs 'say': it is what is answered from there on");
    return steps;
  }

  ScenarioStep read_step(ObjectReader reader, const std::string& pointer) {
    ScenarioStep step;
    step.say = reader.text("say", 0, limits::scenario_text_bytes_max, "");
    check_text(reader, "say", step.say);
    const auto calls = reader.array("call", limits::calls_per_reply_max);
    for (std::size_t i = 0; i < calls.size(); ++i)
      step.calls.push_back(
          read_call(reader.item(*calls[i], "call", i, call_rules), fmt::format("{}/call/{}", pointer, i)));
    if (step.say.empty() && step.calls.empty()) reader.invalid("", "a step needs 'say' or 'call'");
    if (reader.has("usage")) step.usage = read_usage(reader.object("usage", usage_rules));
    step.latency_ms = reader.integer("latency_ms", 0, limits::scenario_latency_ms_max, 0);
    step.chunks = static_cast<std::uint32_t>(reader.integer("chunks", 1, limits::scenario_chunks_max, 1));
    if (reader.has("fail")) step.fault = read_fault(reader.object("fail", fail_rules));
    return step;
  }

  ScenarioCall read_call(ObjectReader reader, const std::string& pointer) {
    ScenarioCall call;
    call.tool = reader.text("tool", 1, 128);
    const json::value* args = reader.find("args");
    call.args = args == nullptr ? "{}" : reader.json("args");
    if (args == nullptr) return call;
    if (!args->is_object())
      reader.invalid("args", "expected an object, found " + std::string(kind_name(*args)));
    each_string(*args, pointer + "/args", [this](const json::value& text, const std::string& at) {
      const auto mistake = placeholder_mistake(std::string_view(text.get_string()));
      if (!mistake.empty() && !error_) error_ = Error{ErrorCode::invalid_definition, mistake, at};
    });
    return call;
  }

  static Usage read_usage(ObjectReader reader) {
    const auto tokens = [&](std::string_view field) {
      return reader.integer(field, 0, limits::max_tokens_max, 0);
    };
    Usage usage{tokens("input_tokens"),
                tokens("cached_input_tokens"),
                tokens("cache_write_tokens"),
                tokens("output_tokens")};
    if (usage.cached_input + usage.cache_write > usage.input)
      reader.invalid("input_tokens",
                     "includes what was read from the cache and written to it, so it is not less");
    return usage;
  }

  static ScenarioFault read_fault(ObjectReader reader) {
    ScenarioFault fault;
    fault.times = static_cast<std::uint32_t>(reader.integer("times", 1, 1'000'000, 1));
    fault.after_chunks =
        static_cast<std::uint32_t>(reader.integer("after_chunks", 0, limits::scenario_chunks_max, 0));
    if (reader.has("status") == reader.has("class")) {
      reader.invalid("", "a fault has either 'status' or 'class'");
    } else if (reader.has("class")) {
      fault.failure.kind = reader.choice<FailureClass>("class");
      if (fault.failure.kind == FailureClass::lost)
        reader.invalid("class", "'lost' is what a crash of the server leaves, no provider answers it");
      fault.failure.text = fmt::format("scripted failure: {}", name(fault.failure.kind));
    } else {
      ReplyEnd end;
      end.http_status = static_cast<int>(reader.integer("status", 400, 599));
      fault.failure = provider_failure({{}, {}, "scripted failure", 0}, end);
    }
    fault.failure.retry_after_ms = reader.integer("retry_after_ms", 0, limits::scenario_latency_ms_max, -1);
    fault.failure.produced = fault.after_chunks > 0;
    return fault;
  }

  static void check_text(ObjectReader& reader, std::string_view field, std::string_view text) {
    if (auto mistake = placeholder_mistake(text); !mistake.empty()) reader.invalid(field, std::move(mistake));
  }

  std::optional<Error> error_;
};

}  // namespace

Result<ScenarioFile> parse_scenarios(std::string_view yaml) {
  const auto document = parse_yaml(yaml);
  if (!document) return tl::unexpected(document.error());
  const auto value = parse_json(document->json);
  if (!value) return tl::unexpected(document->at_line(value.error()));
  auto file = ScenarioReader().read(*value);
  if (!file) return tl::unexpected(document->at_line(file.error()));
  return file;
}

Result<ScenarioFile> load_scenarios(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return fail(ErrorCode::not_found, fmt::format("the scenario file {} cannot be read", path));
  const std::string yaml{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  auto file = parse_scenarios(yaml);
  if (!file) return fail(file.error().code, fmt::format("{}, {}", path, file.error().text));
  return file;
}

}  // namespace ratchet
