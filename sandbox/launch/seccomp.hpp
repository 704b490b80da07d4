#pragma once
// The system calls of tier 2, where the kernel of the machine is what a tool talks to. Three kinds: allowed;
// notable, which are refused, counted and named, since nothing honest needs them; and all others, known or
// not yet invented, which do not exist (ENOSYS: what programs take as "an old kernel", and then do without).

#include <span>
#include <string>
#include <string_view>

#include "runtime/result.hpp"
#include "sandbox/fd.hpp"

namespace ratchet::sandbox {

/// What ordinary programs need. `clone`, `socket` and `clone3` are not among them: they depend on arguments.
std::span<const std::string_view> allowed_calls();
/// Ways to another kernel feature, namespace, module or process: EPERM.
std::span<const std::string_view> notable_calls();

/// Namespaces that a tool may not make: the CLONE_NEW… bits of `clone`.
std::span<const unsigned> refused_clone_flags();

/// The value of `linux.seccomp`, OCI runtime-spec 1.0. `listener` is the path of the socket that the runtime
/// hands the notable calls to; empty: they are refused without anyone knowing.
std::string oci_seccomp(const std::string& listener);

/// The same filter as a program for the kernel, in a file in memory, at its start: what bubblewrap takes.
/// Nobody is told of refused calls. Errors: sandbox_unavailable.
Result<Fd> seccomp_program();

}  // namespace ratchet::sandbox
