#include "bench/mock_model/reply.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "bench/common/http.hpp"
#include "bench/common/prose.hpp"

namespace ratchet::bench {

namespace {

constexpr std::string_view stream_head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

constexpr std::size_t bytes_per_token = 4;
constexpr std::size_t new_bytes_per_step = 3'400;  // what a step adds to the context
constexpr unsigned output_tokens = 150;

struct Usage {
  std::size_t fresh_tokens, cached_tokens;
};

/// Everything but what the last step added comes from the provider's cache.
Usage usage_of(const ModelReply& reply) {
  const auto total = std::max<std::size_t>(reply.request_bytes / bytes_per_token, 1);
  const auto fresh = std::min(total, new_bytes_per_step / bytes_per_token);
  return {fresh, total - fresh};
}

std::string_view text_of_piece(const ModelReply& reply, unsigned index) {
  const auto text = said(reply.run, reply.step);
  const auto from = text.size() * index / reply.pieces;
  return text.substr(from, text.size() * (index + 1) / reply.pieces - from);
}

std::string escaped(std::string_view json) {
  std::string out;
  for (const char c : json) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

template <class... Values>
void add(std::string& out, fmt::format_string<Values...> format, Values&&... values) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Values>(values)...);
}

void anthropic_begin(const ModelReply& reply, std::string& out) {
  const auto usage = usage_of(reply);
  add(out,
      "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"id\":\"msg_{}_{}\",\"type\":"
      "\"message\",\"role\":\"assistant\",\"model\":\"mock\",\"content\":[],\"stop_reason\":null,"
      "\"stop_sequence\":null,\"usage\":{{\"input_tokens\":{},\"cache_creation_input_tokens\":0,"
      "\"cache_read_input_tokens\":{},\"output_tokens\":1}}}}}}\n\n"
      "event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":"
      "{{\"type\":\"text\",\"text\":\"\"}}}}\n\n",
      reply.run,
      reply.step,
      usage.fresh_tokens,
      usage.cached_tokens);
}

void anthropic_end(const ModelReply& reply, std::string& out) {
  out += "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n";
  if (!reply.final) {
    add(out,
        "event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":1,\"content_block\":"
        "{{\"type\":\"tool_use\",\"id\":\"toolu_{}_{}\",\"name\":\"{}\",\"input\":{{}}}}}}\n\n"
        "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":1,\"delta\":"
        "{{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}}}\n\n"
        "event: content_block_stop\ndata: {{\"type\":\"content_block_stop\",\"index\":1}}\n\n",
        reply.run,
        reply.step,
        reply.tool,
        escaped(reply.arguments));
  }
  add(out,
      "event: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{}\","
      "\"stop_sequence\":null}},\"usage\":{{\"output_tokens\":{}}}}}\n\n"
      "event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n",
      reply.final ? "end_turn" : "tool_use",
      output_tokens);
}

void anthropic_text(std::string_view text, std::string& out) {
  add(out,
      "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
      "{{\"type\":\"text_delta\",\"text\":\"{}\"}}}}\n\n",
      text);
}

void openai_chunk(const ModelReply& reply,
                  std::string_view delta,
                  std::string_view finish_reason,
                  std::string& out) {
  add(out,
      "data: "
      "{{\"id\":\"chatcmpl-{}-{}\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"mock\","
      "\"choices\":[{{\"index\":0,\"delta\":{},\"finish_reason\":{}}}],\"usage\":null}}\n\n",
      reply.run,
      reply.step,
      delta,
      finish_reason);
}

void openai_end(const ModelReply& reply, std::string& out) {
  if (!reply.final) {
    openai_chunk(reply,
                 fmt::format("{{\"tool_calls\":[{{\"index\":0,\"id\":\"call_{}_{}\",\"type\":\"function\","
                             "\"function\":{{\"name\":\"{}\",\"arguments\":\"{}\"}}}}]}}",
                             reply.run,
                             reply.step,
                             reply.tool,
                             escaped(reply.arguments)),
                 "null",
                 out);
  }
  openai_chunk(reply, "{}", reply.final ? "\"stop\"" : "\"tool_calls\"", out);
  const auto usage = usage_of(reply);
  const auto prompt_tokens = usage.fresh_tokens + usage.cached_tokens;
  add(out,
      "data: "
      "{{\"id\":\"chatcmpl-{}-{}\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"mock\","
      "\"choices\":[],\"usage\":{{\"prompt_tokens\":{},\"completion_tokens\":{},\"total_tokens\":{},"
      "\"prompt_tokens_details\":{{\"cached_tokens\":{}}}}}}}\n\ndata: [DONE]\n\n",
      reply.run,
      reply.step,
      prompt_tokens,
      output_tokens,
      prompt_tokens + output_tokens,
      usage.cached_tokens);
}

}  // namespace

void append_piece(const ModelReply& reply, unsigned index, std::string& out) {
  const bool first = index == 0;
  const bool last = index + 1 == reply.pieces;
  const auto text = text_of_piece(reply, index);
  std::string events;
  if (reply.protocol == ModelProtocol::anthropic) {
    if (first) anthropic_begin(reply, events);
    anthropic_text(text, events);
    if (last) anthropic_end(reply, events);
  } else {
    if (first) openai_chunk(reply, R"({"role":"assistant","content":""})", "null", events);
    openai_chunk(reply, fmt::format(R"({{"content":"{}"}})", text), "null", events);
    if (last) openai_end(reply, events);
  }
  if (first) out += stream_head;
  append_chunk(events, out);
  if (last) out += last_chunk;
}

}  // namespace ratchet::bench
