#include "runtime/run/row.hpp"

#include "runtime/event/fields.hpp"

namespace ratchet {

std::string encode_row(const RunRow& row) {
  std::string out;
  fields::write(row, out);
  return out;
}

Result<RunRow> decode_row(std::string_view bytes) {
  RunRow row;
  if (const char* error = fields::read(bytes, row))
    return fail(ErrorCode::corrupt, std::string("a run's row is damaged: ") + error);
  return row;
}

}  // namespace ratchet
