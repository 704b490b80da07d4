#include "runtime/content.hpp"

#include "runtime/event/fields.hpp"

namespace ratchet {

Hash content_hash(const Content& content) {
  Sha256 hash;
  for (const Block& block : content) {
    std::string bytes;
    fields::write(block, bytes);
    std::string length;
    fields::put_varint(length, bytes.size());
    hash.add(length).add(bytes);
  }
  return hash.finish();
}

}  // namespace ratchet
