#pragma once
// Content is what people, models and tools say: a list of blocks. A block whose text is large stands in the
// journal as a reference to an artifact and its head; the head is all that a model is shown of it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/enums.hpp"
#include "runtime/hash.hpp"
#include "runtime/ids.hpp"

namespace ratchet {

/// Bytes kept beside the journal as blob `n` of the run, under an id of their own.
struct ArtifactRef {
  ArtifactId id;
  std::uint32_t n = 0;  ///< the blob's number in its run, from 1
  std::uint64_t bytes = 0;
  Hash sha256;
  std::string head;  ///< the first bytes, cut between code points

  bool operator==(const ArtifactRef&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "artifact_id", self.id);
    visit(2, "n", self.n);
    visit(3, "bytes", self.bytes);
    visit(4, "sha256", self.sha256);
    visit(5, "head", self.head);
  }
};

RATCHET_ENUM(BlockType, text, image)

struct Block {
  BlockType type = BlockType::text;
  std::string text;        ///< UTF-8; of an image its base64 form; empty where `artifact` is set
  std::string media_type;  ///< of an image only
  std::optional<ArtifactRef> artifact;

  bool operator==(const Block&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "type", self.type);
    visit(2, "text", self.text);
    visit(3, "media_type", self.media_type);
    visit(4, "artifact", self.artifact);
  }
};

using Content = std::vector<Block>;

inline Content text_content(std::string text) {
  return {Block{BlockType::text, std::move(text), {}, {}}};
}

/// Tells contents apart: of what a client sent, before any of it became an artifact.
Hash content_hash(const Content& content);

/// JSON as text, already valid and compact: written into other JSON as it stands.
struct Json {
  std::string text = "null";

  bool operator==(const Json&) const = default;
};

}  // namespace ratchet
