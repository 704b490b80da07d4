#pragma once
// What people are told of each type of event: one table.

#include <map>
#include <string>
#include <string_view>

#include "http/cli/fields.hpp"

namespace ratchet::cli {

struct EventText {
  std::string line;   ///< beside the number and the type; one line
  std::string below;  ///< what was said or returned; any number of lines
};

/// `tools` are names by call id. Of a type that is not known here, the line is the event's JSON.
EventText event_text(std::string_view type,
                     const Fields& event,
                     const std::map<std::string, std::string>& tools);

}  // namespace ratchet::cli
