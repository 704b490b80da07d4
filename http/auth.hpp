#pragma once
// Who is calling. Two identities meet in a request and are never mixed: the client (a team's service, by its
// API key) and the user on whose behalf a run acts (by the user token in a body).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/config/server_config.hpp"
#include "http/server/message.hpp"
#include "runtime/result.hpp"
#include "runtime/time.hpp"

namespace ratchet {

struct Client {
  std::string id;  ///< of its key
  std::string team;
  std::vector<Role> roles;

  bool may(Role role) const;
};

/// Finds clients by their keys. Holds hashes only.
class Clients {
 public:
  explicit Clients(std::vector<ClientKey> keys) : keys_(std::move(keys)) {}

  /// Takes `Authorization: Bearer <key>`. Every key is compared, each in constant time, so that the time
  /// taken says nothing of where a guess goes wrong. Errors: unauthenticated.
  Result<Client> find(const Request& request) const;

 private:
  std::vector<ClientKey> keys_;
};

/// Whom a development server takes everybody for: team `default`, all roles.
Client dev_client();

/// A development server has no keys, so it must not be reachable by a web page: one that was loaded from
/// elsewhere (`Origin`), or under a name that somebody else's DNS points here (`Host`). Errors:
/// foreign_origin.
Result<void> check_local(const Request& request);

/// The user that a token names.
struct User {
  std::string id;
  std::vector<std::string> scopes;           ///< sorted
  std::optional<Timestamp> expires_at = {};  ///< of the token; none: it does not expire

  bool operator==(const User&) const = default;
};

/// Takes `dev:<user>[:<scope>,…]`. The error never contains the token. Errors: invalid_user_token.
Result<User> parse_dev_token(std::string_view token);

}  // namespace ratchet
