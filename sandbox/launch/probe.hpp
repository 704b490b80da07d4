#pragma once
// What this machine can do. Each tier is tried once at the start, with a real sandbox; a tier that fails is
// not available, and nothing takes its place.

#include <memory>
#include <string>
#include <string_view>

#include "sandbox/launch/launcher.hpp"
#include "sandbox/launch/oci_launcher.hpp"

namespace ratchet::sandbox {

/// Of one tier, from the configuration.
struct TierOptions {
  enum class Kind { oci, bwrap } kind = Kind::oci;
  /// A name that is looked for in the system's folders, or an absolute path: crun, runc or runsc.
  std::string runtime = "crun";
  std::string platform = "systrap";  ///< of runsc
};

/// The version in what `program --version` prints: "crun 1.8.1", "runsc 20240729.0". Pure; empty if there is
/// none.
std::string parse_version(std::string_view runtime, std::string_view printed);

/// Why a runtime cannot be used for a tier, by its name and version alone; empty if it can. Pure. A tool of
/// tier 3 never runs on the machine's kernel, and the first releases of gVisor in Debian cannot list a
/// directory.
std::string unfit(std::uint32_t tier, OciKind kind, std::string_view version);

/// The launcher of a tier, tried; one whose `status` says why it cannot do anything is a result too. `node`
/// is the label of this node's sandboxes: ratchet-<node>. Takes a tenth of a second, gVisor several.
std::unique_ptr<Launcher> make_launcher(std::uint32_t tier,
                                        const TierOptions& options,
                                        const Machine& machine,
                                        RefusalListener* listener,
                                        std::string_view node);

}  // namespace ratchet::sandbox
