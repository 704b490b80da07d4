#include "http/problem.hpp"

#include "runtime/json/object.hpp"

namespace ratchet {

Response problem(const Error& error, std::string_view request_id) {
  Response response;
  response.status = http_status(error.code);
  response.headers = {{"Content-Type", "application/problem+json"}};
  if (response.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"ratchet\"");
  if (response.status == 429 || response.status == 503) response.headers.emplace_back("Retry-After", "1");
  response.body = json_object([&](JsonObject& body) {
    body.text("type", "urn:ratchet:error:" + std::string(name(error.code)))
        .text("title", title(error.code))
        .number("status", response.status)
        .text("detail", error.text)
        .text("code", name(error.code));
    if (!error.pointer.empty()) body.text("pointer", error.pointer);
    body.text("request_id", request_id);
  });
  return response;
}

}  // namespace ratchet
