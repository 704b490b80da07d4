#pragma once
// One event of each type, every field set to something that is not its default, so that their bytes pin the
// format.

#include <string>
#include <vector>

#include "runtime/event/codec.hpp"

namespace ratchet::samples {

/// In the order of their numbers. `seq` counts from 1.
std::vector<Event> one_of_each();

/// A record that holds these events.
Record record_of(std::vector<Event> events);

}  // namespace ratchet::samples
