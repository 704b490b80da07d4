#pragma once
// What of an answer a client may see: the one place on the way out where secrets are hidden. Streams of
// events and artifacts are hidden as they are made, by a RunView (runtime/redact/run_view.hpp).

#include "http/auth.hpp"
#include "http/server/message.hpp"
#include "runtime/redact/redactor.hpp"

namespace ratchet {

struct Route;

/// exact: every byte. values: secrets are told by their form, not by the names of keys, as in a definition,
/// where a schema has properties of such names. all: by both.
enum class Sight { exact, values, all };

/// The role audit sees exact bytes, and who may approve those of approvals.
Sight sight_of(const Client& client, const Route& route);

/// The answer as it is shown.
Response shown(Response response, Sight sight, const Redactor& redactor);

}  // namespace ratchet
