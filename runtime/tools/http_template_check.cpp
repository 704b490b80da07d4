#include <algorithm>
#include <iterator>
#include <set>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/pointer.hpp"
#include "runtime/tools/http_template.hpp"
#include "runtime/tools/template_text.hpp"
#include "runtime/tools/url.hpp"

namespace ratchet {

namespace {

using boost::json::value;

/// What the connector sets itself, what would frame the message anew, and what carries secrets, which have no
/// place in a manifest.
constexpr std::string_view reserved_headers[] = {"host",
                                                 "content-length",
                                                 "transfer-encoding",
                                                 "connection",
                                                 "keep-alive",
                                                 "upgrade",
                                                 "te",
                                                 "trailer",
                                                 "expect",
                                                 "authorization",
                                                 "proxy-authorization",
                                                 "proxy-connection",
                                                 "cookie",
                                                 "idempotency-key"};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

/// A token of RFC 9110 section 5.6.2.
bool is_header_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool is_header_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; }) &&
         !text.starts_with(' ') && !text.ends_with(' ');
}

class TemplateChecker {
 public:
  TemplateChecker(TemplateUse use, const ArgumentSchema& schema) : use_(use), schema_(schema) {}

  Result<void> url(std::string_view text, const std::vector<std::string>& network_allow) {
    const auto parts = split_template(text);
    if (!parts) return at("/url", parts.error());
    const auto shape = split_url_template(*parts);
    // Something harmless in each place tells how the URL will be read.
    std::string sample;
    std::size_t first_place = std::string::npos;
    for (const auto& part : shape.base) {
      if (part.is_place) first_place = std::min(first_place, sample.size());
      sample += part.is_place ? "x" : part.text;
    }
    for (const auto& parameter : shape.query) {
      sample += sample.find('?') == std::string::npos ? '?' : '&';
      for (const auto& part : parameter)
        sample += part.is_place ? "x" : part.text;
    }
    const auto read = parse_url(sample);
    if (!read) return at("/url", read.error());
    if (first_place < read->path_at)
      return refuse("/url", "a place cannot stand in the scheme, host or port");
    if (std::find(network_allow.begin(), network_allow.end(), read->endpoint()) == network_allow.end())
      return refuse("/url", fmt::format("{} is not among the endpoints of network.allow", read->endpoint()));
    if (auto base = path(shape.base, sample.substr(read->path_at, read->query_at - read->path_at)); !base)
      return base;
    for (const auto& parameter : shape.query)
      if (auto checked = query(parameter); !checked) return checked;
    return {};
  }

  Result<void> headers(const std::vector<std::pair<std::string, std::string>>& headers) {
    std::vector<std::string> seen;
    for (const auto& [header, text] : headers) {
      const std::string pointer = pointer_to("/headers", header);
      const std::string lower = lower_case(header);
      if (!is_header_name(header)) return refuse(pointer, "not the name of a header");
      if (std::find(std::begin(reserved_headers), std::end(reserved_headers), lower) !=
          std::end(reserved_headers))
        return refuse(pointer, fmt::format("the header {} cannot be set by a manifest", lower));
      if (std::find(seen.begin(), seen.end(), lower) != seen.end())
        return refuse(pointer, fmt::format("the header {} comes twice", lower));
      if (!is_header_value(text)) return refuse(pointer, "a header's value is printable ASCII on one line");
      if (text.find("{{") != std::string::npos)
        return refuse(pointer, "places in headers are not filled by this version", ErrorCode::not_supported);
      seen.push_back(lower);
    }
    return {};
  }

  /// An argument that is sent nowhere would be dropped without a word to the model.
  Result<void> nothing_is_dropped() {
    for (const std::string& property : schema_.properties())
      if (!used_.contains(property))
        return refuse("",
                      fmt::format("the argument {} is sent nowhere: write {{{{{}}}}} into the request",
                                  property,
                                  pointer_to("", property)));
    return {};
  }

  Result<void> body(const value& part, const std::string& pointer, bool is_member = false) {
    if (part.is_string()) return text(part.get_string(), pointer, is_member);
    if (part.is_array()) {
      for (std::size_t i = 0; i < part.get_array().size(); ++i)
        if (auto checked = body(part.get_array()[i], pointer_to(pointer, std::to_string(i))); !checked)
          return checked;
    }
    if (part.is_object()) {
      for (const auto& [key, member] : part.get_object()) {
        const auto here = pointer_to(pointer, key);
        if (key.find("{{") != boost::json::string_view::npos)
          return refuse(here, "a place cannot stand in a key");
        if (auto checked = body(member, here, true); !checked) return checked;
      }
    }
    return {};
  }

 private:
  static tl::unexpected<Error> refuse(std::string_view pointer,
                                      std::string why,
                                      ErrorCode code = ErrorCode::invalid_definition) {
    return fail(code, std::move(why), std::string(pointer));
  }

  static tl::unexpected<Error> at(std::string_view pointer, const Error& error) {
    return refuse(pointer, error.text, error.code);
  }

  Result<void> text(std::string_view text, const std::string& pointer, bool is_member) {
    const auto parts = split_template(text);
    if (!parts) return at(pointer, parts.error());
    const bool may_be_absent = is_member && is_one_place(*parts);
    for (const auto& part : *parts)
      if (part.is_place)
        if (auto known = place(part.text, pointer, !may_be_absent); !known) return known;
    return {};
  }

  /// A place that is filled for certain, or at least can be.
  Result<void> place(std::string_view place, std::string_view pointer, bool needed) {
    if (++places_ > limits::template_places_max)
      return refuse(pointer, fmt::format("more than {} places", limits::template_places_max));
    if (!place.starts_with('/')) {
      if (use_ == TemplateUse::status_check && (place == "idempotency_key" || place == "call_id")) return {};
      return refuse(
          pointer,
          use_ == TemplateUse::call
              ? fmt::format("there is no place {{{{{}}}}} in a call: it is filled from the arguments", place)
              : fmt::format("there is no place {{{{{}}}}}; besides the arguments there are "
                            "{{{{idempotency_key}}}} and {{{{call_id}}}}",
                            place));
    }
    used_.insert(split_pointer(place)->front());
    if (!schema_.knows(place)) return refuse(pointer, fmt::format("input_schema does not name {}", place));
    if (needed && !schema_.promises(place))
      return refuse(pointer, fmt::format("{} is needed here, but input_schema does not require it", place));
    return {};
  }

  Result<void> path(const std::vector<TemplatePart>& base, std::string_view sample) {
    while (!sample.empty()) {
      sample.remove_prefix(1);
      const auto end = std::min(sample.find('/'), sample.size());
      const auto segment = percent_decoded(sample.substr(0, end));
      if (segment == "." || segment == "..") return refuse("/url", "the path has a segment . or ..");
      sample.remove_prefix(end);
    }
    for (const auto& part : base)
      if (part.is_place)
        if (auto known = place(part.text, "/url", true); !known) return known;
    return {};
  }

  Result<void> query(const std::vector<TemplatePart>& parameter) {
    bool in_value = false;
    for (const auto& part : parameter) {
      if (!part.is_place) {
        in_value = in_value || part.text.find('=') != std::string::npos;
        continue;
      }
      if (!in_value)
        return refuse("/url", "a place in the query has to be the value of a parameter: name={{/pointer}}");
      if (auto known = place(part.text, "/url", !is_one_place_parameter(parameter)); !known) return known;
    }
    return {};
  }

  TemplateUse use_;
  const ArgumentSchema& schema_;
  std::size_t places_ = 0;
  std::set<std::string> used_;  // arguments, by the first step of their places
};

}  // namespace

Result<void> check_template(const HttpTemplate& request,
                            TemplateUse use,
                            const ArgumentSchema& schema,
                            const std::vector<std::string>& network_allow) {
  TemplateChecker checker(use, schema);
  if (auto url = checker.url(request.url, network_allow); !url) return url;
  if (auto headers = checker.headers(request.headers); !headers) return headers;
  if (!request.body.empty()) {
    const auto body = parse_json(request.body);
    if (!body) return tl::unexpected(body.error());
    if (auto checked = checker.body(*body, "/body"); !checked) return checked;
  }
  const bool sends_all = request.body.empty() && request.takes_body();
  return use == TemplateUse::status_check || sends_all ? Result<void>() : checker.nothing_is_dropped();
}

}  // namespace ratchet
