#include "tests/evaluation/evaluation.hpp"

#include <array>
#include <vector>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "tests/fakes/http_service.hpp"

namespace ratchet::evaluation {

namespace {

namespace json = boost::json;

constexpr int facts_count = 30, facts_of_piece = 2, pieces_max = 400;
constexpr int pages_of_task = 12;
constexpr std::array words = {"KESTREL",
                              "OSPREY",
                              "HERON",
                              "PLOVER",
                              "DUNLIN",
                              "AVOCET",
                              "CURLEW",
                              "GANNET",
                              "PETREL",
                              "FULMAR",
                              "SISKIN",
                              "LINNET",
                              "MERLIN",
                              "BRENT",
                              "SCAUP",
                              "TEAL"};
constexpr std::array books = {"ash", "beech", "cedar", "elm", "fir"};
constexpr std::array subjects = {"Orion",
                                 "Vega",
                                 "Rigel",
                                 "Altair",
                                 "Deneb",
                                 "Mizar",
                                 "Spica",
                                 "Castor",
                                 "Pollux",
                                 "Atlas",
                                 "Electra",
                                 "Maia",
                                 "Merope",
                                 "Taygeta",
                                 "Alcor"};
constexpr std::array kinds = {"dock number", "pass phrase"};

struct Fact {
  std::string what, value;

  std::string sentence() const {
    return fmt::format(
        "The {} of {} is {}.", what.substr(0, what.find(" of ")), what.substr(what.find(" of ") + 4), value);
  }
};

Fact fact(int n) {
  const bool number = n % 2 == 0;
  return {fmt::format("{} of {}", kinds[n % 2], subjects[(n / 2) % subjects.size()]),
          number ? std::to_string(10'007 + n * 7'919 % 89'989)
                 : fmt::format("{}{}", words[(n * 5) % words.size()], 100 + n * 37 % 900)};
}

/// Text that says nothing, other for every n.
std::string filler(std::size_t bytes, int n) {
  std::string text;
  for (int line = 0; text.size() < bytes; ++line)
    text += fmt::format("Entry {} of ledger {}: {} crates moved at {:02}:{:02}, no remark. ",
                        line,
                        n,
                        (line * 13 + n * 7) % 97,
                        (line + n) % 24,
                        (line * 7) % 60);
  return text;
}

class Api {
 public:
  explicit Api(const crashing::Server& server) : server_(server) {}

  json::value get(const std::string& path) const { return parse(server_.get(path)); }

  bool post(const std::string& path, const json::value& body, long wanted, json::value* reply = nullptr) {
    std::string text;
    append_json(text, body);
    const auto answer = server_.post(path, text);
    if (answer.status != wanted) {
      trouble = fmt::format("POST {} was answered with {}: {}", path, answer.status, answer.body);
      return false;
    }
    if (reply) *reply = parse(answer);
    return true;
  }

  std::string start(const std::string& agent, const std::string& input) {
    json::value reply;
    const json::value body = {{"agent_id", agent}, {"input", input}, {"user_token", "dev:evaluation"}};
    if (!post("/v1/runs", body, 202, &reply)) return {};
    return std::string(reply.at("run_id").as_string());
  }

  /// Waits until the run rests.
  json::value settle(const std::string& run) const {
    for (;;) {
      json::value now = get("/v1/runs/" + run);
      const auto& status = now.at("status").as_string();
      if (status == "finished" || status == "paused") return now;
      server_.follow(run, static_cast<std::uint64_t>(now.at("last_seq").as_int64()) + 1, 600'000);
    }
  }

  /// All events of these types.
  std::vector<json::value> events(const std::string& run, const std::string& types) const {
    std::vector<json::value> all;
    std::int64_t after = 0;
    for (;;) {
      const json::value page =
          get(fmt::format("/v1/runs/{}/events?limit=200&after={}&types={}", run, after, types));
      const auto& items = page.at("items").as_array();
      if (items.empty()) return all;
      all.insert(all.end(), items.begin(), items.end());
      after = items.back().at("seq").as_int64();
    }
  }

  std::string trouble;

 private:
  static json::value parse(const crashing::Answer& answer) {
    auto value = parse_json(answer.body);
    return value ? std::move(*value) : json::value(json::object());
  }

  const crashing::Server& server_;
};

json::value agent(const Subject& subject, const std::string& id, double compact_at) {
  return {
      {"agent_id", id},
      {"model", {{"name", subject.model}}},
      {"budgets",
       {{"max_steps", 2'000}, {"max_tokens", 1'000'000'000}, {"max_seconds", 86'400}, {"max_usd", "1000"}}},
      {"context", {{"compact_at", compact_at}, {"result_cap_tokens", 4'000}}}};
}

/// What the run last said.
std::string last_reply(const Api& api, const std::string& run) {
  const auto replies = api.events(run, "model.completed");
  std::string text;
  if (replies.empty()) return text;
  for (const json::value& block : replies.back().at("content").as_array())
    if (const json::value* part = block.as_object().if_contains("text"); part && part->is_string())
      text += std::string(part->as_string());
  return text;
}

}  // namespace

Recall measure_recall(const Subject& subject) {
  Recall recall;
  Api api(subject.server);
  json::value definition = agent(subject, "listener", subject.compact_at);
  definition.as_object()["interactive"] = true;
  definition.as_object()["system_prompt"] =
      "You keep records. You are told entries, most of which do not matter, and facts that do. Answer each "
      "message "
      "with the single word noted, and a question with the value that was asked for and nothing else.";
  const auto troubled = [&] {
    recall.trouble = api.trouble;
    return recall;
  };
  if (!api.post("/v1/agents/listener/versions", definition, 201)) return troubled();
  const std::string run = api.start("listener", "Remember what I tell you about the warehouses.");
  if (run.empty()) return troubled();
  const auto say = [&](const std::string& text) {
    api.settle(run);
    if (!api.post("/v1/runs/" + run + "/messages", {{"content", text}}, 202)) return false;
    return api.settle(run).at("status").as_string() == "paused";
  };

  int told = 0;
  std::int64_t last_fact_seq = 0;
  bool cut = false;
  for (int piece = 0; piece < pieces_max && !cut; ++piece) {
    std::string text = filler(subject.page_bytes / 2, piece);
    for (int i = 0; i < facts_of_piece && told < facts_count; ++i)
      text += fact(told++).sentence() + " ";
    if (!say(text + filler(subject.page_bytes / 2, piece + 1'000))) {
      api.trouble += " the run ended while it was told facts";
      return troubled();
    }
    // A piece joins the context with the request that follows it.
    if (told < facts_count) continue;
    if (last_fact_seq == 0) last_fact_seq = api.settle(run).at("last_seq").as_int64();
    for (const json::value& compacted : api.events(run, "context.compacted")) {
      cut = compacted.at("up_to_seq").as_int64() >= last_fact_seq - 1;
      recall.tokens_before = compacted.at("tokens_before").as_int64();
      recall.tokens_after = compacted.at("tokens_after").as_int64();
    }
  }
  if (!cut) {
    recall.trouble = "no compaction came: is the window very large, or compact_at very high?";
    return recall;
  }
  recall.compactions = static_cast<int>(api.events(run, "context.compacted").size());
  for (int n = 0; n < facts_count; ++n) {
    if (!say(fmt::format("What is the {}? Answer with the value alone.", fact(n).what))) {
      api.trouble += " the run ended during the questions";
      return troubled();
    }
    ++recall.asked;
    recall.right += last_reply(api, run).find(fact(n).value) != std::string::npos;
  }
  api.post("/v1/runs/" + run + "/cancel", json::object(), 202);
  return recall;
}

Passed run_tasks(const Subject& subject, bool compacting) {
  Passed result;
  Api api(subject.server);
  const auto code_word = [](int book, int page) {
    return std::string(words[(book * 7 + page * 5) % words.size()]);
  };
  const fakes::HttpService shelf([&](const fakes::HttpService::Request& request) {
    const auto args = parse_json(request.body);
    if (!args) return fakes::HttpService::answer(400, "no JSON");
    const auto& title = args->at("book").as_string();
    const int page = static_cast<int>(args->at("page").as_int64());
    for (std::size_t book = 0; book < books.size(); ++book) {
      if (title != books[book]) continue;
      const int seed = static_cast<int>(book) * 100 + page;
      return fakes::HttpService::answer(200,
                                        filler(subject.page_bytes / 2, seed) +
                                            fmt::format("The code word of page {} of book {} is {}. ",
                                                        page,
                                                        books[book],
                                                        code_word(static_cast<int>(book), page)) +
                                            filler(subject.page_bytes / 2, seed + 5'000));
    }
    return fakes::HttpService::answer(404, "no such book");
  });
  const std::string name = compacting ? "reader_on" : "reader_off";
  const std::string tool = "read_page_" + std::string(compacting ? "on" : "off");
  const std::string address = fmt::format("127.0.0.1:{}", shelf.port());
  const json::value manifest = {
      {"name", "read_page"},
      {"description", "Returns a page of a book."},
      {"input_schema",
       {{"type", "object"},
        {"properties", {{"book", {{"type", "string"}}}, {"page", {{"type", "integer"}}}}},
        {"required", json::array{"book", "page"}},
        {"additionalProperties", false}}},
      {"kind", "http"},
      {"tier", 1},
      {"side_effects", "none"},
      {"network", {{"allow", json::array{address}}}},
      {"http", {{"method", "POST"}, {"url", "http://" + address + "/page"}}}};
  json::value definition = agent(subject, name, compacting ? subject.compact_at : 0.95);
  definition.as_object()["system_prompt"] =
      "You read books one page at a time and answer exactly as you are asked to.";
  definition.as_object()["tools"] = json::array{"read_page"};
  const auto troubled = [&] {
    result.trouble = api.trouble;
    return result;
  };
  if (!api.post("/v1/tools", manifest, 201)) return troubled();
  if (!api.post("/v1/agents/" + name + "/versions", definition, 201)) return troubled();
  for (std::size_t book = 0; book < books.size(); ++book) {
    const std::string run = api.start(
        name,
        fmt::format(
            "Read pages 1 to {} of book {} with read_page, in order and one at a time. Then answer with "
            "their "
            "code words, in the order of the pages, with single spaces between them and nothing else.",
            pages_of_task,
            books[book]));
    if (run.empty()) return troubled();
    const json::value end = api.settle(run);
    std::string expected;
    for (int page = 1; page <= pages_of_task; ++page)
      expected += (page > 1 ? " " : "") + code_word(static_cast<int>(book), page);
    ++result.tasks;
    const bool answered =
        end.at("stop_reason").is_string() && end.at("stop_reason").as_string() == "final_answer";
    if (answered && std::string(end.at("result").at("text").as_string()).find(expected) != std::string::npos)
      ++result.passed;
    result.compactions += static_cast<int>(api.events(run, "context.compacted").size());
    result.input_tokens += end.at("usage").at("input_tokens").as_int64();
  }
  return result;
}

std::string to_string(const Recall& recall) {
  if (!recall.trouble.empty()) return "recall: not measured, " + recall.trouble;
  return fmt::format("recall: {} of {} after {} compactions, the last from {} to {} tokens",
                     recall.right,
                     recall.asked,
                     recall.compactions,
                     recall.tokens_before,
                     recall.tokens_after);
}

std::string to_string(const Passed& passed) {
  if (!passed.trouble.empty()) return "tasks: not measured, " + passed.trouble;
  return fmt::format("tasks: {} of {} passed with {} compactions, {} tokens of input",
                     passed.passed,
                     passed.tasks,
                     passed.compactions,
                     passed.input_tokens);
}

}  // namespace ratchet::evaluation
