#pragma once
// The guest program as bytes, so that ratchet remains one binary. It is written out once, mode 0755, under
// the data directory, and bound into each sandbox read-only.
//
// As process 1 of a sandbox it is started `<path> serve`, with
//   --uid N       the user and group of commands; 1000 if it is not said
//   --same-user   commands run as the guest's own user: where only one is mapped. Weaker: see the launcher.
// As a command in a sandbox it is `<path> read|write|edit|list ...`: the file tools, see
// sandbox/guest/README.md.

#include <string_view>

namespace ratchet::sandbox {

/// An ELF file, statically linked.
std::string_view guest_image();

}  // namespace ratchet::sandbox
