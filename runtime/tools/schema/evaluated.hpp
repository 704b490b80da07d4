#pragma once
// Which members of an object, or items of an array, some schema has looked at: what unevaluatedProperties and
// unevaluatedItems are about (JSON Schema 2020-12 core, sections 7.7.1 and 11). Kept only where one of them
// asks; a schema that did not fit leaves no trace.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ratchet::schema {

class Evaluated {
 public:
  explicit Evaluated(std::size_t size) : words_((size + 63) / 64) {}

  bool has(std::size_t index) const { return (words_[index / 64] >> index % 64 & 1) != 0; }

  void add(std::size_t index) { words_[index / 64] |= std::uint64_t{1} << index % 64; }

  void add(const Evaluated& other) {
    for (std::size_t i = 0; i < words_.size(); ++i)
      words_[i] |= other.words_[i];
  }

  void add_all() { words_.assign(words_.size(), ~std::uint64_t{0}); }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace ratchet::schema
