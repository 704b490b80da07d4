#pragma once
// What the mock reads out of a request without parsing it: a request has grown to 50 KB at step 12, and the
// mock shares its cores with the server under test.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/common/mix.hpp"

namespace ratchet::bench {

/// How often the assistant has spoken: the string `"assistant"` outside of other strings. In both protocols
/// it stands only as the value of `role`, because quotes inside of a text are escaped.
unsigned count_assistant_messages(std::string_view body);

/// The number after `"step":` in the arguments of a call of the mock's own; 0 if there is none.
unsigned find_step(std::string_view arguments);

/// Arguments of a call for tools whose arguments the mock knows. nullopt: `--args` has to say.
std::optional<std::string> default_arguments(std::string_view tool);

/// The same of the calls of the mixed workload.
std::string tool_of(Special special);
std::string_view arguments_of(Special special);

/// Fills the places of `text` in: {run}, {child} (the run's sub-agent), {step}, {offset} (grows with the
/// step) and {artifact} (the first artifact id of the request).
std::string fill_in(std::string_view text, std::uint64_t run, unsigned step, std::string_view request);

}  // namespace ratchet::bench
