#include "tests/evaluation/fact_model.hpp"

#include <map>
#include <vector>

#include <boost/json/value.hpp>
#include <fmt/format.h>
#include <re2/re2.h>

#include "runtime/json/dom.hpp"

namespace ratchet::evaluation {

namespace {

namespace json = boost::json;

/// A conversation as the model reads it.
struct Reading {
  std::string text;   ///< of all messages but the last two
  std::string asked;  ///< the last thing that was said, late text apart
  bool hands_over = false;
  std::vector<std::string> facts;  ///< the sentences, each once, in order
  std::map<std::string, std::string> values;

  std::string value_of(const std::string& what) const {
    const auto found = values.find(what);
    return found == values.end() ? "I do not know." : found->second;
  }
};

std::string text_of(const json::value& message) {
  const json::value* content = message.get_object().if_contains("content");
  if (content == nullptr) return {};
  if (content->is_string()) return std::string(content->get_string());
  std::string text;
  if (content->is_array())
    for (const json::value& part : content->get_array())
      if (const json::value* inner = part.get_object().if_contains("text"); inner && inner->is_string())
        text += std::string(inner->get_string()) + "\n";
  return text;
}

Reading read(const std::string& body) {
  Reading reading;
  const auto document = parse_json(body);
  if (!document) return reading;
  for (const json::value& message : document->at("messages").as_array()) {
    const std::string text = text_of(message);
    if (message.at("role").as_string() == "user" && !text.starts_with("[Now: ")) reading.asked = text;
    reading.text += text + "\n";
  }
  reading.hands_over = reading.asked.starts_with("[Hand-over]");
  static const re2::RE2 fact(R"((The ([a-z ]+ of [A-Za-z0-9 ]+) is ([A-Za-z0-9]+)\.))");
  re2::StringPiece rest(reading.text);
  std::string sentence, what, value;
  while (re2::RE2::FindAndConsume(&rest, fact, &sentence, &what, &value))
    if (reading.values.insert_or_assign(what, value).second) reading.facts.push_back(sentence);
  return reading;
}

std::string note(const Reading& reading, int forgets_every) {
  std::string text = "## Goal\nAs it was given.\n## Key facts\n";
  int n = 0;
  for (const std::string& fact : reading.facts)
    if (forgets_every == 0 || ++n % forgets_every != 0) text += "- " + fact + "\n";
  return text + "## Next\nGo on.";
}

struct Answer {
  std::string text, tool, args;
};

/// "Read pages 1 to 12 of book ash": the first page that it knows no word of is read, or all words are told.
Answer work(const Reading& reading, const std::string& book, int pages) {
  std::string words;
  for (int page = 1; page <= pages; ++page) {
    const auto found = reading.values.find(fmt::format("code word of page {} of book {}", page, book));
    if (found == reading.values.end())
      return {{}, "read_page", fmt::format(R"({{"book":"{}","page":{}}})", book, page)};
    words += (words.empty() ? "" : " ") + found->second;
  }
  return {words, {}, {}};
}

Answer answer(const Reading& reading, int forgets_every) {
  if (reading.hands_over) return {note(reading, forgets_every), {}, {}};
  std::string what;
  if (re2::RE2::PartialMatch(reading.asked, R"(What is the ([a-z ]+ of [A-Za-z0-9 ]+)\?)", &what))
    return {reading.value_of(what), {}, {}};
  int pages = 0;
  std::string book;
  if (re2::RE2::PartialMatch(reading.text, R"(Read pages 1 to (\d+) of book ([a-z]+))", &pages, &book))
    return work(reading, book, pages);
  return {"noted", {}, {}};
}

std::string quoted(const std::string& text) {
  std::string out;
  append_json(out, json::value(text));
  return out;
}

}  // namespace

std::string FactModel::reply(const fakes::HttpService::Request& request) const {
  const Answer said = answer(read(request.body), forgets_every_);
  std::string delta = fmt::format(R"({{"role":"assistant","content":{}}})", quoted(said.text));
  if (!said.tool.empty())
    delta = fmt::format(
        R"({{"role":"assistant","tool_calls":[{{"index":0,"id":"call_x","type":"function","function":{{"name":"{}","arguments":{}}}}}]}})",
        said.tool,
        quoted(said.args));
  const auto chunk = [](const std::string& inner, const std::string& finish) {
    return fmt::format(
        "data: "
        "{{\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"facts\",\"choices\":"
        "[{{\"index\":0,\"delta\":{},\"finish_reason\":{}}}]}}\n\n",
        inner,
        finish);
  };
  const std::size_t prompt_tokens = request.body.size() / 4;
  const std::string usage = fmt::format(
      "data: "
      "{{\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"facts\",\"choices\":[],"
      "\"usage\":{{\"prompt_tokens\":{},\"completion_tokens\":{},\"total_tokens\":{}}}}}\n\n",
      prompt_tokens,
      said.text.size() / 4 + 1,
      prompt_tokens + said.text.size() / 4 + 1);
  return fakes::HttpService::answer(200,
                                    chunk(delta, "null") +
                                        chunk("{}", said.tool.empty() ? "\"stop\"" : "\"tool_calls\"") +
                                        usage + "data: [DONE]\n\n",
                                    "text/event-stream");
}

}  // namespace ratchet::evaluation
