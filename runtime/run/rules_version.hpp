#pragma once
// Which rules a run goes by. A run is decided, and its context rendered, by the rules it started with for as
// long as it lives; `run.started` says which. A change that would decide or render a recorded run otherwise
// counts its version up here, and asks for it where it is made (`started.rules_version >= 2`), so that runs
// of an older build go on as they began. `ratchet replay --verify` over the recorded runs in
// tests/golden/runs finds a change that forgot to.

#include <cstdint>

namespace ratchet {

/// Of `decide` and everything it asks. 2: what people and parents say is shown whole, whatever the cap of
/// results; seconds are warned of to the moment; a run that ends otherwise keeps its last answer.
inline constexpr std::uint32_t newest_rules = 2;
inline constexpr std::uint32_t newest_assembler = 1;  ///< of the context and its rendering

}  // namespace ratchet
