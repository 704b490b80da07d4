#include "http/identity/key_set.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "http/identity/base64url.hpp"
#include "runtime/json/dom.hpp"
#include "runtime/json/writer.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

using boost::json::object;

constexpr std::size_t key_id_bytes_max = 255;
constexpr std::size_t coordinate_bytes = 32;  // of P-256

/// A member's text; empty where there is none, nothing where it is not a text.
std::optional<std::string_view> text_of(const object& key, std::string_view name) {
  const auto* member = key.if_contains(name);
  if (!member) return "";
  if (!member->is_string()) return std::nullopt;
  return std::string_view(member->get_string());
}

std::string jwk_of(const object& key, std::initializer_list<std::string_view> members) {
  std::string out = "{";
  for (const auto name : members) {
    if (out.size() > 1) out += ',';
    append_json_string(out, name);
    out += ':';
    append_json_string(out, *text_of(key, name));
  }
  return out + "}";
}

bool is_meant_to_verify(const object& key) {
  const auto use = text_of(key, "use");
  if (!use || (!use->empty() && *use != "sig")) return false;
  const auto* operations = key.if_contains("key_ops");
  if (!operations) return true;
  if (!operations->is_array()) return false;
  return std::any_of(operations->get_array().begin(), operations->get_array().end(), [](const auto& word) {
    return word.is_string() && word.get_string() == "verify";
  });
}

std::size_t bits_of(std::string_view number) {
  number.remove_prefix(std::min(number.find_first_not_of('\0'), number.size()));
  if (number.empty()) return 0;
  return number.size() * 8 - static_cast<std::size_t>(std::countl_zero(static_cast<std::uint8_t>(number[0])));
}

std::optional<VerifyingKey> rsa_key(const object& key) {
  const auto n = base64url_decoded(text_of(key, "n").value_or("")),
             e = base64url_decoded(text_of(key, "e").value_or(""));
  if (!n || !e) return std::nullopt;
  const std::size_t bits = bits_of(*n), exponent = bits_of(*e);
  if (bits < limits::rsa_key_bits_min || bits > limits::rsa_key_bits_max) return std::nullopt;
  // An even exponent is none, 1 would make every text a signature of itself, and long ones cost time.
  const bool odd = !e->empty() && (static_cast<std::uint8_t>(e->back()) & 1) != 0;
  if (exponent < 2 || exponent > 64 || !odd) return std::nullopt;
  return VerifyingKey{{}, {TokenAlgorithm::RS256, TokenAlgorithm::PS256}, jwk_of(key, {"kty", "n", "e"})};
}

std::optional<VerifyingKey> ec_key(const object& key) {
  if (text_of(key, "crv") != "P-256") return std::nullopt;
  for (const auto name : {"x", "y"}) {
    const auto coordinate = base64url_decoded(text_of(key, name).value_or(""));
    if (!coordinate || coordinate->size() != coordinate_bytes) return std::nullopt;
  }
  return VerifyingKey{{}, {TokenAlgorithm::ES256}, jwk_of(key, {"kty", "crv", "x", "y"})};
}

std::optional<VerifyingKey> read_key(const object& key) {
  const auto type = text_of(key, "kty"), id = text_of(key, "kid"), algorithm = text_of(key, "alg");
  if (!type || !id || id->size() > key_id_bytes_max || !algorithm) return std::nullopt;
  if (key.contains("d") || !is_meant_to_verify(key)) return std::nullopt;
  auto out = *type == "RSA" ? rsa_key(key) : *type == "EC" ? ec_key(key) : std::nullopt;
  if (!out) return std::nullopt;
  out->id = *id;
  if (!algorithm->empty())
    std::erase_if(out->algorithms, [&](TokenAlgorithm each) { return name(each) != *algorithm; });
  if (out->algorithms.empty()) return std::nullopt;
  return out;
}

bool can(const VerifyingKey& key, TokenAlgorithm algorithm) {
  return std::find(key.algorithms.begin(), key.algorithms.end(), algorithm) != key.algorithms.end();
}

}  // namespace

bool KeySet::has(std::string_view id) const {
  return std::any_of(keys.begin(), keys.end(), [&](const VerifyingKey& key) { return key.id == id; });
}

std::vector<const VerifyingKey*> KeySet::candidates(std::string_view id, TokenAlgorithm algorithm) const {
  std::vector<const VerifyingKey*> out;
  for (const VerifyingKey& key : keys)
    if (can(key, algorithm) && (id.empty() || key.id == id)) out.push_back(&key);
  if (id.empty() && out.size() > 1) out.clear();
  return out;
}

Result<KeySet> parse_key_set(std::string_view json) {
  if (json.size() > limits::key_set_bytes_max)
    return fail(ErrorCode::invalid_request,
                fmt::format("a key set of {} bytes; at most {}", json.size(), limits::key_set_bytes_max));
  const auto root = parse_json(json);
  if (!root) return tl::unexpected(root.error());
  const auto* members = root->is_object() ? root->get_object().if_contains("keys") : nullptr;
  if (!members || !members->is_array())
    return fail(ErrorCode::invalid_request, "no key set: expected an object with a list `keys`");
  if (members->get_array().size() > limits::key_set_keys_max)
    return fail(
        ErrorCode::invalid_request,
        fmt::format(
            "a key set of {} keys; at most {}", members->get_array().size(), limits::key_set_keys_max));
  KeySet set;
  for (const auto& member : members->get_array())
    if (member.is_object())
      if (auto key = read_key(member.get_object())) set.keys.push_back(std::move(*key));
  if (set.keys.empty())
    return fail(ErrorCode::invalid_request,
                fmt::format("none of the {} keys of the set can verify RS256, PS256 or ES256",
                            members->get_array().size()));
  return set;
}

}  // namespace ratchet
