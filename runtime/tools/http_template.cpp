// Filling templates; http_template_check.cpp judges them when a tool is registered.
#include "runtime/tools/http_template.hpp"

#include <algorithm>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/json/writer.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/template_text.hpp"
#include "runtime/tools/url.hpp"

namespace ratchet {

namespace {

using boost::json::value;

tl::unexpected<Error> refuse(std::string_view place, std::string_view why) {
  return fail(ErrorCode::invalid_request, fmt::format("{}: {}", place, why), std::string(place));
}

/// What places stand for, in one call.
class Places {
 public:
  Places(const value& args, std::string_view idempotency_key, std::string_view call_id)
      : args_(args), idempotency_key_(idempotency_key), call_id_(call_id) {}

  /// Null where the arguments have no such value.
  const value* find(std::string_view place) const {
    if (place == "idempotency_key") return &idempotency_key_;
    if (place == "call_id") return &call_id_;
    boost::system::error_code absent;
    return args_.find_pointer(place, absent);
  }

  /// The value as text for a URL. Errors: invalid_request.
  Result<std::string> scalar(std::string_view place) const {
    const value* found = find(place);
    if (!found) return refuse(place, "the URL of this tool needs it");
    if (found->is_string()) return std::string(found->get_string());
    if (!found->is_number() && !found->is_bool())
      return refuse(place,
                    fmt::format("the URL of this tool takes a string, a number or a boolean, not {}",
                                kind_name(*found)));
    std::string text;
    append_json(text, *found);
    return text;
  }

 private:
  const value& args_;
  value idempotency_key_, call_id_;
};

/// Encoding hides `/` and `..` from a URL parser, but not from a server that decodes before it routes.
bool moves_in_path(std::string_view decoded_segment) {
  for (std::size_t begin = 0; begin <= decoded_segment.size();) {
    const auto end = std::min(decoded_segment.find_first_of("/\\", begin), decoded_segment.size());
    const auto part = decoded_segment.substr(begin, end - begin);
    if (part == "." || part == "..") return true;
    begin = end + 1;
  }
  return false;
}

bool has_control(std::string_view text) {
  return std::any_of(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

/// Appends the parts, percent-encoded. Errors: invalid_request.
Result<void> fill(std::string& url,
                  const std::vector<TemplatePart>& parts,
                  const Places& places,
                  bool in_path) {
  for (const auto& part : parts) {
    if (!part.is_place) {
      url += part.text;
      continue;
    }
    const auto filled = places.scalar(part.text);
    if (!filled) return tl::unexpected(filled.error());
    if (in_path && (filled->empty() || has_control(*filled)))
      return refuse(part.text,
                    "it stands in the path of a URL: it cannot be empty or have control characters");
    if (filled->size() > limits::url_bytes_max) return refuse(part.text, "it is too long for a URL");
    append_percent_encoded(url, *filled);
  }
  return {};
}

/// Whether a segment of the path would be taken for another place in the tree.
Result<void> check_path(std::string_view path) {
  while (!path.empty()) {
    path.remove_prefix(1);
    const auto end = std::min(path.find('/'), path.size());
    const auto segment = percent_decoded(path.substr(0, end));
    if (moves_in_path(segment))
      return fail(
          ErrorCode::invalid_request,
          fmt::format("'{}' cannot stand in the path of a URL", segment.substr(0, utf8_cut(segment, 60))));
    path.remove_prefix(end);
  }
  return {};
}

Result<std::string> fill_url(std::string_view text, const Places& places) {
  const auto parts = split_template(text);
  if (!parts) return tl::unexpected(parts.error());
  const auto shape = split_url_template(*parts);
  std::string url;
  if (auto filled = fill(url, shape.base, places, true); !filled) return tl::unexpected(filled.error());
  char before = '?';
  for (const auto& parameter : shape.query) {
    if (is_one_place_parameter(parameter) && !places.find(parameter[1].text)) continue;
    url += before;
    before = '&';
    if (auto filled = fill(url, parameter, places, false); !filled) return tl::unexpected(filled.error());
  }
  const auto read = parse_url(url);
  if (!read) return fail(ErrorCode::invalid_request, read.error().text);
  if (auto path = check_path(std::string_view(url).substr(read->path_at, read->query_at - read->path_at));
      !path)
    return tl::unexpected(path.error());
  return url;
}

/// Writes a body's template with its places filled in.
class BodyFiller {
 public:
  explicit BodyFiller(const Places& places) : places_(places) {}

  Result<std::string> fill(const value& body) {
    if (!append(body)) return tl::unexpected(*error_);
    return std::move(out_);
  }

 private:
  bool append(const value& part) {
    if (part.is_string()) return append_text(part.get_string());
    if (part.is_array()) return append_array(part.get_array());
    if (part.is_object()) return append_object(part.get_object());
    append_json(out_, part);
    return true;
  }

  bool append_text(std::string_view text) {
    const auto parts = split_template(text);
    if (!parts) return stop(parts.error());
    if (is_one_place(*parts)) return append_place(parts->front().text, false);
    out_ += '"';
    for (const auto& part : *parts) {
      if (!part.is_place)
        append_json_escaped(out_, part.text);
      else if (!append_place(part.text, true))
        return false;
    }
    out_ += '"';
    return true;
  }

  bool append_place(std::string_view place, bool inside_string) {
    const value* found = places_.find(place);
    if (!found) return stop(refuse(place, "the request of this tool needs it").value());
    if (!inside_string) {
      append_json(out_, *found);
    } else if (found->is_string()) {
      append_json_escaped(out_, found->get_string());
    } else {
      std::string text;
      append_json(text, *found);
      append_json_escaped(out_, text);
    }
    if (out_.size() <= limits::connector_body_bytes_max) return true;
    return stop({ErrorCode::too_large,
                 fmt::format("the request would have more than {} bytes", limits::connector_body_bytes_max)});
  }

  bool append_array(const boost::json::array& items) {
    out_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ',';
      if (!append(items[i])) return false;
    }
    out_ += ']';
    return true;
  }

  bool append_object(const boost::json::object& members) {
    out_ += '{';
    bool first = true;
    for (const auto& [key, member] : members) {
      if (is_absent(member)) continue;
      if (!first) out_ += ',';
      first = false;
      append_json_string(out_, key);
      out_ += ':';
      if (!append(member)) return false;
    }
    out_ += '}';
    return true;
  }

  bool is_absent(const value& member) const {
    if (!member.is_string()) return false;
    const auto parts = split_template(member.get_string());
    return parts && is_one_place(*parts) && !places_.find(parts->front().text);
  }

  bool stop(Error error) {
    error_ = std::move(error);
    return false;
  }

  const Places& places_;
  std::string out_;
  std::optional<Error> error_;
};

bool has_header(const ConnectorCall& call, std::string_view lower_case_name) {
  return std::any_of(call.headers.begin(), call.headers.end(), [&](const auto& header) {
    return std::equal(header.first.begin(),
                      header.first.end(),
                      lower_case_name.begin(),
                      lower_case_name.end(),
                      [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
  });
}

Result<ConnectorCall> render(const ToolManifest& tool,
                             const HttpTemplate& request,
                             const value& args,
                             const Places& places) {
  ConnectorCall call;
  call.method = request.method;
  call.headers = request.headers;
  call.timeout_ms = tool.timeout_ms;
  call.network_allow = tool.network_allow;
  call.reply_bytes_max = limits::artifact_bytes_max;
  auto url = fill_url(request.url, places);
  if (!url) return tl::unexpected(url.error());
  call.url = std::move(*url);
  if (!request.takes_body()) return call;
  if (!has_header(call, "content-type")) call.headers.emplace_back("Content-Type", "application/json");
  if (request.body.empty()) {
    append_json(call.body, args);
    if (call.body.size() > limits::connector_body_bytes_max)
      return fail(ErrorCode::too_large,
                  fmt::format("the request would have {} bytes; at most {} are sent",
                              call.body.size(),
                              limits::connector_body_bytes_max));
    return call;
  }
  const auto shape = parse_json(request.body);
  if (!shape) return tl::unexpected(shape.error());
  auto body = BodyFiller(places).fill(*shape);
  if (!body) return tl::unexpected(body.error());
  call.body = std::move(*body);
  return call;
}

Result<value> parse_args(std::string_view args_json) {
  auto args = parse_json(args_json);
  if (!args) return fail(ErrorCode::invalid_request, args.error().text);
  if (!args->is_object())
    return fail(ErrorCode::invalid_request, fmt::format("expected an object, found {}", kind_name(*args)));
  return args;
}

}  // namespace

Result<ConnectorCall> render_call(const ToolManifest& tool,
                                  std::string_view args_json,
                                  std::string_view idempotency_key) {
  const auto args = parse_args(args_json);
  if (!args) return tl::unexpected(args.error());
  auto call = render(tool, tool.http, *args, Places(*args, idempotency_key, {}));
  if (call && tool.idempotency != Idempotency::none)
    call->headers.emplace_back("Idempotency-Key", idempotency_key);
  return call;
}

Result<ConnectorCall> render_status_check(const ToolManifest& tool,
                                          std::string_view args_json,
                                          std::string_view idempotency_key,
                                          std::string_view call_id) {
  const auto args = parse_args(args_json);
  if (!args) return tl::unexpected(args.error());
  return render(tool, tool.status_check, *args, Places(*args, idempotency_key, call_id));
}

}  // namespace ratchet
