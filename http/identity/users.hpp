#pragma once
// Who a user token stands for. The one place that believes a token.

#include <functional>
#include <memory>
#include <string>

#include "http/auth.hpp"
#include "http/identity/claims.hpp"
#include "http/identity/issuer_keys.hpp"

namespace ratchet {

class Users {
 public:
  virtual ~Users() = default;
  using OnUser = std::function<void(Result<User>)>;
  /// Calls `on_user` once: at once on this thread, or later on another that must not be blocked, where keys
  /// have to be fetched. No error contains the token. From any thread. Errors: invalid_user_token,
  /// identity_unavailable.
  virtual void verify(std::string token, OnUser on_user) = 0;

  /// After it returns no callback begins any more, and none is running.
  virtual void stop() {}
};

/// Believes `dev:<user>[:<scope>,…]` as it stands.
class DevUsers final : public Users {
 public:
  void verify(std::string token, OnUser on_user) override { on_user(parse_dev_token(token)); }
};

struct JwtOptions {
  TokenRules rules;
  std::string jwks_url;
  bool dev_tokens_too = false;  ///< takes `dev:…` as well: a development server
};

/// Verifies signed tokens (JWT).
class JwtUsers final : public Users {
 public:
  /// The connector, the clock and what the log holds are borrowed.
  JwtUsers(JwtOptions options, Connector& connector, Clock& clock, Log log);

  void verify(std::string token, OnUser on_user) override;

  void stop() override { keys_.stop(); }

 private:
  const JwtOptions options_;
  Clock& clock_;
  IssuerKeys keys_;
};

}  // namespace ratchet
