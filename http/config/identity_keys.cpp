// The keys of `identity` and `authorizer`: who users are, and who else is asked whether they may.

#include "http/config/identity_keys.hpp"

#include <fmt/format.h>

#include "runtime/tools/url.hpp"

namespace ratchet::config {

namespace {

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "[::1]" || host == "127.0.0.1";
}

/// Null, or a URL whose answers can be trusted: what comes over the network unprotected may be anybody's.
Done read_trusted_url(const Value& value, std::string& out) {
  if (auto done = read_optional_text(value, out); !done || out.empty()) return done;
  const auto url = parse_url(out);
  if (!url) return fail_at(value, ErrorCode::invalid_request, url.error().text);
  if (url->scheme == "https" || is_loopback(url->host)) return {};
  return fail_at(
      value,
      ErrorCode::invalid_request,
      fmt::format("'{}' has to be https: only a server on this machine (localhost, 127.0.0.1, [::1]) "
                  "is believed over http",
                  out));
}

/// The base of several paths.
Done read_trusted_base(const Value& value, std::string& out) {
  if (auto done = read_trusted_url(value, out); !done || out.empty()) return done;
  if (parse_url(out)->query_at != out.size())
    return fail_at(value, ErrorCode::invalid_request, fmt::format("'{}' must not have a query", out));
  while (out.ends_with('/'))
    out.pop_back();
  return {};
}

Done need(const Value& where, bool given, std::string_view what, std::string_view why) {
  return given ? Done{}
               : Done(fail_at(
                     where, ErrorCode::invalid_request, fmt::format("'{}' is missing here: {}", what, why)));
}

Done at_most_one(const Value& where, const KeySource& source, std::string_view what) {
  const int given = !source.file.empty() + !source.env.empty() + !source.credential.empty();
  if (given <= 1) return {};
  return fail_at(where,
                 ErrorCode::invalid_request,
                 fmt::format("only one of {0}_file, {0}_env and {0}_credential can be given", what));
}

// --- identity ----------------------------------------------------------------------------------------------

constexpr Key<ExchangeConfig> exchange_keys[] = {
    {"token_url",
     "null",
     "The token endpoint; https, or on this machine.",
     [](ExchangeConfig& e, const Value& v) { return read_trusted_url(v, e.token_url); }},
    {"client_id",
     "null",
     "As whom this server asks there.",
     [](ExchangeConfig& e, const Value& v) { return read_optional_text(v, e.client_id); }},
    {"client_secret_file",
     "null",
     "A file that holds the client's secret; relative to this file.",
     [](ExchangeConfig& e, const Value& v) { return read_optional_text(v, e.client_secret.file); }},
    {"client_secret_env",
     "null",
     "An environment variable that holds it.",
     [](ExchangeConfig& e, const Value& v) { return read_optional_text(v, e.client_secret.env); }},
    {"client_secret_credential",
     "null",
     "A systemd credential that holds it (LoadCredential=).",
     [](ExchangeConfig& e, const Value& v) { return read_optional_text(v, e.client_secret.credential); }},
};

Done read_exchange(const Value& value, ExchangeConfig& out) {
  if (auto done = read_section<ExchangeConfig>(value, exchange_keys, out); !done) return done;
  if (out == ExchangeConfig{}) return {};
  constexpr std::string_view why = "an exchange needs a token endpoint and a client with a secret";
  if (auto done = need(value, !out.token_url.empty(), "token_url", why); !done) return done;
  if (auto done = need(value, !out.client_id.empty(), "client_id", why); !done) return done;
  if (auto done = need(value, !out.client_secret.empty(), "client_secret_file", why); !done) return done;
  return at_most_one(value, out.client_secret, "client_secret");
}

constexpr Key<IdentityConfig> identity_keys[] = {
    {"mode",
     "dev",
     "How user tokens are verified. dev: `dev:<user>[:<scope>,…]`, believed as they are. jwt: by signature.",
     [](IdentityConfig& i, const Value& v) { return read_word(v, i.mode); }},
    {"issuer",
     "null",
     "jwt: whose tokens are accepted (`iss`, exactly).",
     [](IdentityConfig& i, const Value& v) { return read_optional_text(v, i.issuer); }},
    {"audience",
     "null",
     "jwt: for whom a token must have been made (`aud`).",
     [](IdentityConfig& i, const Value& v) { return read_optional_text(v, i.audience); }},
    {"jwks_url",
     "null",
     "jwt: where the issuer's keys are; https, or on this machine.",
     [](IdentityConfig& i, const Value& v) { return read_trusted_url(v, i.jwks_url); }},
    {"exchange",
     "{}",
     "Where tools with an `audience` get a token of their own for the user (RFC 8693).",
     [](IdentityConfig& i, const Value& v) { return read_exchange(v, i.exchange); },
     [](std::string_view path, std::vector<ConfigKey>& out) {
       list_keys<ExchangeConfig>(std::string(path) + ".", exchange_keys, out);
     }},
    {"node_key_file",
     "null",
     "A file of 32 random bytes that user tokens are sealed under at rest; relative to this file. Without "
     "any: <data_dir>/node.key, made at the first start.",
     [](IdentityConfig& i, const Value& v) { return read_optional_text(v, i.node_key.file); }},
    {"node_key_credential",
     "null",
     "A systemd credential that holds them (LoadCredential=).",
     [](IdentityConfig& i, const Value& v) { return read_optional_text(v, i.node_key.credential); }},
};

// --- authorizer --------------------------------------------------------------------------------------------

constexpr Key<AuthorizerConfig> authorizer_keys[] = {
    {"kind",
     "none",
     "A policy decision point that is asked before each tool call: none, authzen or opa.",
     [](AuthorizerConfig& a, const Value& v) { return read_word(v, a.kind); }},
    {"url",
     "null",
     "Its address, without the paths of the protocol; https, or on this machine.",
     [](AuthorizerConfig& a, const Value& v) { return read_trusted_base(v, a.url); }},
    {"path",
     "null",
     "opa: the rule, as in /v1/data/<path>; its value is true, or an object with `allow: true`.",
     [](AuthorizerConfig& a, const Value& v) -> Done {
       if (auto done = read_optional_text(v, a.path); !done || a.path.empty()) return done;
       const bool plain = a.path.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_-/") == std::string::npos;
       if (plain && a.path.front() != '/' && a.path.back() != '/') return {};
       return fail_at(
           v, ErrorCode::invalid_request, fmt::format("'{}' is not names with / between them", a.path));
     }},
    {"timeout_ms",
     "1000",
     "How long it may take; what is slower is a denial.",
     [](AuthorizerConfig& a, const Value& v) { return read_integer(v, 1, 60'000, a.timeout_ms); }},
    {"api_key_file",
     "null",
     "A file that holds the key this server sends as a bearer; relative to this file.",
     [](AuthorizerConfig& a, const Value& v) { return read_optional_text(v, a.api_key.file); }},
    {"api_key_env",
     "null",
     "An environment variable that holds it.",
     [](AuthorizerConfig& a, const Value& v) { return read_optional_text(v, a.api_key.env); }},
    {"api_key_credential",
     "null",
     "A systemd credential that holds it (LoadCredential=).",
     [](AuthorizerConfig& a, const Value& v) { return read_optional_text(v, a.api_key.credential); }},
};

}  // namespace

Done read_identity(const Value& value, IdentityConfig& out) {
  if (auto done = read_section<IdentityConfig>(value, identity_keys, out); !done) return done;
  if (!out.node_key.file.empty() && !out.node_key.credential.empty())
    return fail_at(
        value, ErrorCode::invalid_request, "only one of node_key_file and node_key_credential can be given");
  const bool any = !out.issuer.empty() || !out.audience.empty() || !out.jwks_url.empty();
  if (out.mode == IdentityMode::dev) {
    if (!any) return {};
    return fail_at(value, ErrorCode::invalid_request, "issuer, audience and jwks_url need `mode: jwt`");
  }
  constexpr std::string_view why = "`mode: jwt` needs it";
  if (auto done = need(value, !out.issuer.empty(), "issuer", why); !done) return done;
  if (auto done = need(value, !out.audience.empty(), "audience", why); !done) return done;
  return need(value, !out.jwks_url.empty(), "jwks_url", why);
}

void list_identity(std::string_view path, std::vector<ConfigKey>& out) {
  list_keys<IdentityConfig>(std::string(path) + ".", identity_keys, out);
}

Done read_authorizer(const Value& value, AuthorizerConfig& out) {
  if (auto done = read_section<AuthorizerConfig>(value, authorizer_keys, out); !done) return done;
  if (out.kind == AuthorizerKind::none) {
    if (out == AuthorizerConfig{}) return {};
    return fail_at(value, ErrorCode::invalid_request, "an authorizer needs `kind: authzen` or `kind: opa`");
  }
  if (auto done = need(value, !out.url.empty(), "url", "it says where the decision point is"); !done)
    return done;
  const bool opa = out.kind == AuthorizerKind::opa;
  if (opa != !out.path.empty())
    return fail_at(
        value,
        ErrorCode::invalid_request,
        opa ? "'path' is missing here: `kind: opa` needs the rule to ask" : "only `kind: opa` has a path");
  return at_most_one(value, out.api_key, "api_key");
}

void list_authorizer(std::string_view path, std::vector<ConfigKey>& out) {
  list_keys<AuthorizerConfig>(std::string(path) + ".", authorizer_keys, out);
}

}  // namespace ratchet::config
