// A stranger's schema (the first line) and a model's arguments (the rest): whatever they are, compiling and
// checking end, messages keep their bounds, and what the schema promises is there in all that fits.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "runtime/json/dom.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/pointer.hpp"
#include "runtime/tools/schema.hpp"

namespace ratchet {
namespace {

void run(std::string_view input) {
  const auto line = std::min(input.find('\n'), input.size());
  const auto schema = ArgumentSchema::compile(input.substr(0, line));
  if (!schema) {
    RATCHET_ENSURE(is_valid_utf8(schema.error().text), "an error text is not valid UTF-8");
    return;
  }
  const auto args = input.substr(std::min(line + 1, input.size()));
  const auto message = schema->check(args);
  if (message) {
    RATCHET_ENSURE(message->size() <= limits::schema_message_bytes_max && is_valid_utf8(*message),
                   "a message is too long or not valid UTF-8");
    RATCHET_ENSURE(schema->check(args) == message, "a second check says something else");
    return;
  }
  const auto value = parse_json(args);
  for (const std::string& name : schema->properties()) {
    const auto pointer = pointer_to("", name);
    RATCHET_ENSURE(schema->knows(pointer), "a property is not known");
    RATCHET_ENSURE(!schema->promises(pointer) || value->get_object().contains(name), "a promise is broken");
  }
}

}  // namespace
}  // namespace ratchet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ratchet::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
