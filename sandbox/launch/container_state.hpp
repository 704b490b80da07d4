#pragma once
// What an OCI runtime says of its containers.

#include <string>
#include <string_view>

namespace ratchet::sandbox {

/// The container's id in the "container process state" that a runtime sends with a seccomp listener; empty if
/// the text is not one.
std::string container_name(std::string_view state);

}  // namespace ratchet::sandbox
