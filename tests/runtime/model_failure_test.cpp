// What becomes of responses that are no replies.

#include <string>

#include <gtest/gtest.h>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/model/provider_error.hpp"
#include "runtime/time.hpp"
#include "tests/runtime/model_replies.hpp"

namespace ratchet {
namespace {

using testing::ended;
using testing::expect_reply;

ModelFailure failure(int status, const std::string& body, ReplyEnd end = {}) {
  end.http_status = status;
  const auto parser = make_reply_parser(Protocol::openai);
  parser->feed(body, nullptr);
  return std::get<ModelFailure>(parser->finish(end));
}

TEST(ModelFailure, IsClassifiedByWhatTheProviderSays) {
  const struct {
    int status;
    const char* body;
    const char* line;
  } table[] = {
      // Anthropic
      {400,
       R"({"type":"error","error":{"type":"invalid_request_error","message":"tools.0: bad"},"request_id":"req_1"})",
       "failed rejected: HTTP 400 invalid_request_error: tools.0: bad"},
      {401,
       R"({"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}})",
       "failed permanent: HTTP 401 authentication_error: invalid x-api-key"},
      {402,
       R"({"type":"error","error":{"type":"billing_error","message":"pay"}})",
       "failed money: HTTP 402 billing_error: pay"},
      {403,
       R"({"type":"error","error":{"type":"permission_error","message":"no"}})",
       "failed permanent: HTTP 403 permission_error: no"},
      {404,
       R"({"type":"error","error":{"type":"not_found_error","message":"model: x"}})",
       "failed permanent: HTTP 404 not_found_error: model: x"},
      {409,
       R"({"type":"error","error":{"type":"conflict_error","message":"x"}})",
       "failed transient: HTTP 409 conflict_error: x"},
      {413,
       R"({"type":"error","error":{"type":"request_too_large","message":"x"}})",
       "failed overflow: HTTP 413 request_too_large: x"},
      {429,
       R"({"type":"error","error":{"type":"rate_limit_error","message":"x"}})",
       "failed transient: HTTP 429 rate_limit_error: x"},
      {429,
       R"({"type":"error","error":{"type":"rate_limit_error","message":"x","details":{"error_code":"ramp_limit_exceeded"}}})",
       "failed overloaded: HTTP 429 rate_limit_error ramp_limit_exceeded: x"},
      {429,
       R"({"type":"error","error":{"type":"rate_limit_error","message":"x","details":{"error_code":"enforced_spend_limit_reached"}}})",
       "failed money: HTTP 429 rate_limit_error enforced_spend_limit_reached: x"},
      {403,
       R"({"type":"error","error":{"type":"permission_error","message":"x","details":{"error_code":"linked_organization_suspended"}}})",
       "failed money: HTTP 403 permission_error linked_organization_suspended: x"},
      {500,
       R"({"type":"error","error":{"type":"api_error","message":"x"}})",
       "failed transient: HTTP 500 api_error: x"},
      {529,
       R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})",
       "failed overloaded: HTTP 529 overloaded_error: Overloaded"},
      {400,
       R"({"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}})",
       "failed overflow: HTTP 400 invalid_request_error: prompt is too long: 213462 tokens > 200000 maximum"},
      {400,
       R"({"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}})",
       "failed money: HTTP 400 invalid_request_error: Your credit balance is too low to access the API"},
      // OpenAI
      {400,
       R"({"error":{"message":"long","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}})",
       "failed overflow: HTTP 400 invalid_request_error context_length_exceeded: long"},
      {401,
       R"({"error":{"message":"Incorrect API key provided: sk-abcd***************wxyz.","type":"invalid_request_error","code":"invalid_api_key"}})",
       "failed permanent: HTTP 401 invalid_request_error invalid_api_key: Incorrect API key provided: "
       "[REDACTED]"},
      {429,
       R"({"error":{"message":"x","type":"insufficient_quota","code":"insufficient_quota"}})",
       "failed money: HTTP 429 insufficient_quota insufficient_quota: x"},
      {429,
       R"({"error":{"message":"x","type":"billing","code":"credit_balance_exhausted"}})",
       "failed money: HTTP 429 billing credit_balance_exhausted: x"},
      {429,
       R"({"error":{"message":"x","type":"t","code":"organization_spend_limit_exceeded"}})",
       "failed money: HTTP 429 t organization_spend_limit_exceeded: x"},
      {429,
       R"({"error":{"message":"x","type":"tokens","code":"rate_limit_exceeded"}})",
       "failed transient: HTTP 429 tokens rate_limit_exceeded: x"},
      {429,
       R"({"error":{"message":"x","type":"requests","code":"slow_down"}})",
       "failed overloaded: HTTP 429 requests slow_down: x"},
      {503,
       R"({"error":{"message":"x","type":"server_error","code":"slow_down"}})",
       "failed overloaded: HTTP 503 server_error slow_down: x"},
      {404,
       R"({"error":{"message":"x","type":"invalid_request_error","code":"model_not_found"}})",
       "failed permanent: HTTP 404 invalid_request_error model_not_found: x"},
      // servers that imitate them
      {500,
       R"({"error":{"code":500,"message":"'messages' is required","type":"server_error"}})",
       "failed transient: HTTP 500 server_error: 'messages' is required"},
      {400,
       R"({"error":{"code":400,"message":"the request exceeds","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}})",
       "failed overflow: HTTP 400 exceed_context_size_error: the request exceeds"},
      {400,
       R"({"error":{"code":400,"message":"Unable to generate parser for this template","type":"invalid_request_error"}})",
       "failed rejected: HTTP 400 invalid_request_error: Unable to generate parser for this template"},
      {500,
       R"({"error":{"code":500,"message":"The output does not match the expected peg-native format","type":"server_error"}})",
       "failed transient (produced): HTTP 500 server_error: The output does not match the expected "
       "peg-native format"},
      {400,
       R"({"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400})",
       "failed overflow: HTTP 400 BadRequestError: This model's maximum context length is 4096 tokens."},
      {404, R"({"error":"model 'x' not found"})", "failed permanent: HTTP 404: model 'x' not found"},
      {422,
       R"({"detail":[{"loc":["body"],"msg":"field required"}]})",
       R"(failed rejected: HTTP 422: [{"loc":["body"],"msg":"field required"}])"},
      {503,
       R"([{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}])",
       "failed transient: HTTP 503 UNAVAILABLE: The model is overloaded."},
      {400, R"({"foo":1})", R"(failed rejected: HTTP 400: {"foo":1})"},
      {401, R"({"error":{}})", R"(failed permanent: HTTP 401: {"error":{}})"},
      // 19: no JSON at all
      {502,
       "<html>\r\n<head><title>502 Bad Gateway</title></head>\n\t<body>x</body></html>\n",
       "failed transient: HTTP 502: <html> <head><title>502 Bad Gateway</title></head> "
       "<body>x</body></html>"},
      {503, "", "failed transient: HTTP 503"},
      {400, "{\"error\":", "failed rejected: HTTP 400: {\"error\":"},
      {408, "", "failed transient: HTTP 408"},
      {307, "", "failed permanent: HTTP 307: redirects are not followed"},
      {405, "no", "failed permanent: HTTP 405: no"},
      {200, "<html>Please log in</html>", "failed transient: no model's reply: <html>Please log in</html>"},
      {200, "", "failed transient: the reply is empty"},
  };

  for (const auto& [status, body, line] : table)
    expect_reply(Protocol::anthropic, body, body, line, ended(status));
}

TEST(ModelFailure, ComesAsAStreamToo) {
  expect_reply(
      Protocol::anthropic,
      "an event with status 429",
      "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"x\"}}",
      "failed transient: HTTP 429 rate_limit_error: x",
      ended(429));
}

TEST(ModelFailure, ComesFromTheTransport) {
  expect_reply(Protocol::openai,
               "no connection",
               "",
               "failed transient: connection refused",
               ended(0, "connection refused"));
  expect_reply(Protocol::openai,
               "nothing came",
               "",
               "failed transient: no answer within 90000 ms",
               ended(200, "no answer within 90000 ms"));
}

TEST(ModelFailure, KeepsWhatTheProviderAsksFor) {
  const auto asked = [](const char* seconds, const char* ms) {
    ReplyEnd end;
    end.retry_after = seconds;
    end.retry_after_ms = ms;
    end.now = *parse_timestamp("2026-11-29T08:15:30Z");
    return failure(429, "", end).retry_after_ms;
  };
  EXPECT_EQ(asked("", ""), -1);
  EXPECT_EQ(asked("2", ""), 2'000);
  EXPECT_EQ(asked("0.25", ""), 250);
  EXPECT_EQ(asked("2", "150"), 150);
  EXPECT_EQ(asked("2", "soon"), 2'000);
  EXPECT_EQ(asked("Sun, 29 Nov 2026 08:16:00 GMT", ""), 30'000);
  EXPECT_EQ(asked("Sun, 29 Nov 2026 08:00:00 GMT", ""), 0);
  EXPECT_EQ(asked("Mon, 29 Feb 2027 08:00:00 GMT", ""), -1);
  EXPECT_EQ(asked("-1", ""), -1);
  EXPECT_EQ(asked("1e3", ""), -1);
  EXPECT_EQ(asked("nan", ""), -1);
  EXPECT_EQ(asked("999999999999999999999", ""), -1);
}

TEST(ModelFailure, HonoursShouldRetryButNotForMoney) {
  const auto kind = [](int status, const char* should_retry, const std::string& body = "") {
    ReplyEnd end;
    end.x_should_retry = should_retry;
    return failure(status, body, end).kind;
  };
  EXPECT_EQ(kind(400, "true"), FailureClass::transient);
  EXPECT_EQ(kind(529, "true"), FailureClass::overloaded);
  EXPECT_EQ(kind(429, "false"), FailureClass::permanent);
  EXPECT_EQ(kind(400, "false"), FailureClass::rejected);
  EXPECT_EQ(kind(429, "true", R"({"error":{"type":"insufficient_quota"}})"), FailureClass::money);
}

TEST(ModelFailure, KeepsTheUsageThatWasReported) {
  const auto parser = make_reply_parser(Protocol::anthropic);
  parser->feed(
      "data: "
      "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"cache_read_input_tokens\":4}}"
      "}\n\n",
      nullptr);
  const auto failed = std::get<ModelFailure>(parser->finish(ended(200, "reset")));
  EXPECT_EQ(failed.usage, (Usage{7, 4, 0, 0}));
  EXPECT_FALSE(failed.produced);
}

TEST(ModelFailure, NeverShowsAKey) {
  ReplyEnd end;
  end.secret = "hunter2-and-more";
  EXPECT_EQ(failure(401, R"({"error":{"message":"bad key hunter2-and-more!"}})", end).text,
            "HTTP 401: bad key [REDACTED]!");

  const struct {
    const char *said, *shown;
  } table[] = {
      {"key sk-ant-api03-AbCd_efGH-1234 is wrong", "key [REDACTED] is wrong"},
      {"(sk-proj-12345678)", "([REDACTED])"},
      {"Authorization: Bearer abc/def+1234567", "Authorization: Bearer [REDACTED]"},
      {"bearer: \"abcdefghijkl\"", "bearer: \"[REDACTED]\""},
      {"AIzaSyA1234567890 and eyJhbGciOiJI.eyJzdWIi.c2ln", "[REDACTED] and [REDACTED]"},
      {"risk-free task-list sk-1", "risk-free task-list sk-1"},
      {"lines\n\tand\x01 spaces ", "lines and spaces"},
      {"caf\xC3\xA9 \xFF", "caf\xC3\xA9 \uFFFD"},
  };

  for (const auto& [said, shown] : table)
    EXPECT_EQ(error_text(said, ""), shown);
}

TEST(ModelFailure, CutsTheTextBetweenCodePoints) {
  std::string message;
  for (int i = 0; i < 1'000; ++i)
    message += "€";
  const auto text = failure(400, "{\"error\":{\"message\":\"" + message + "\"}}").text;
  EXPECT_GT(text.size(), limits::error_text_bytes_max - 4);
  EXPECT_LE(text.size(), limits::error_text_bytes_max);
  EXPECT_TRUE(is_valid_utf8(text));
}

TEST(ModelFailure, DoesNotShowHalfASecretOfAnEndlessPage) {
  // The head that is kept of a page ends inside of the key.
  std::string page = "<html>" + std::string(4'080, ' ') + "key sk-ant-0123456789abcdef";
  EXPECT_EQ(failure(502, page).text, "HTTP 502: <html> key");
}

}  // namespace
}  // namespace ratchet
