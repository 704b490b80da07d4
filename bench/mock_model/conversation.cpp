#include "bench/mock_model/conversation.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "bench/common/run_mark.hpp"

namespace ratchet::bench {

namespace {

constexpr std::size_t artifact_id_bytes = 30;
constexpr unsigned offset_bytes_per_step = 2'800;

template <class Number>
std::optional<Number> number_at(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

std::string_view find_artifact(std::string_view request) {
  const auto at = request.find("art_");
  return at == std::string_view::npos ? "art_missing" : request.substr(at, artifact_id_bytes);
}

}  // namespace

unsigned count_assistant_messages(std::string_view body) {
  // memmem runs at some 4 GB/s here, std::string_view::find at a fifth of it.
  static constexpr std::string_view word = "\"assistant\"";
  unsigned count = 0;
  const auto* end = body.data() + body.size();
  const auto* at = body.data();
  for (;;) {
    at = static_cast<const char*>(memmem(at, static_cast<std::size_t>(end - at), word.data(), word.size()));
    if (at == nullptr) return count;
    ++count;
    at += word.size();
  }
}

unsigned find_step(std::string_view arguments) {
  static constexpr std::string_view key = "\"step\":";
  const auto at = arguments.find(key);
  if (at == std::string_view::npos) return 0;
  auto rest = arguments.substr(at + key.size());
  rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(' ')));
  return number_at<unsigned>(rest).value_or(0);
}

std::optional<std::string> default_arguments(std::string_view tool) {
  if (tool == "lookup")
    return R"({"run":"{run}","step":{step},"query":"open orders and shipments of the customer, newest first"})";
  if (tool == "wait") return R"({"seconds":86400})";
  if (tool == "artifact_read") return R"({"artifact_id":"{artifact}","offset":{offset},"limit":2800})";
  if (tool == "notes_write") return R"({"text":"{run}: what was found in step {step}","mode":"append"})";
  if (tool == "todo_write") return R"({"items":[{"text":"{run}: step {step}","status":"doing"}]})";
  return std::nullopt;
}

std::string tool_of(Special special) {
  switch (special) {
    case Special::sandbox:
      return "probe";
    case Special::child:
      return "spawn_agent";
    case Special::approval:
      return "pay";
  }
  return {};
}

std::string_view arguments_of(Special special) {
  if (special == Special::child) return R"({"agent_id":"bench","input":"{child} a part of the task"})";
  return R"({"run":"{run}","step":{step},"query":"what is still open"})";
}

std::string fill_in(std::string_view text, std::uint64_t run, unsigned step, std::string_view request) {
  std::string out;
  while (!text.empty()) {
    const auto take = [&](std::string_view place, auto&& value) {
      if (!text.starts_with(place)) return false;
      out += value();
      text.remove_prefix(place.size());
      return true;
    };
    if (take("{run}", [&] { return run_mark(run); })) continue;
    if (take("{child}", [&] { return run_mark(first_child + run); })) continue;
    if (take("{step}", [&] { return std::to_string(step); })) continue;
    if (take("{offset}", [&] { return std::to_string((step - 1) * offset_bytes_per_step); })) continue;
    if (take("{artifact}", [&] { return std::string(find_artifact(request)); })) continue;
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace ratchet::bench
