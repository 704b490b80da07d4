#pragma once
// Reads a body of shared pieces as one stream of bytes, and can start again: a request that met a dead pooled
// connection is sent a second time from the same pieces.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/model/client.hpp"

namespace ratchet {

inline std::uint64_t body_bytes(const Body& body) {
  std::uint64_t bytes = 0;
  for (const auto& piece : body)
    bytes += piece->size();
  return bytes;
}

class BodyReader {
 public:
  /// `body` is borrowed and must outlive the reader.
  explicit BodyReader(const Body& body) : body_(&body) {}

  /// Copies up to `size` bytes to `out`; 0 at the end.
  std::size_t read(char* out, std::size_t size) {
    std::size_t copied = 0;
    while (copied < size && piece_ < body_->size()) {
      const std::string& piece = *(*body_)[piece_];
      const std::size_t n = std::min(size - copied, piece.size() - offset_);
      std::memcpy(out + copied, piece.data() + offset_, n);
      copied += n;
      offset_ += n;
      if (offset_ == piece.size()) ++piece_, offset_ = 0;
    }
    return copied;
  }

  /// To `position` bytes from the start. False if the body is shorter.
  bool seek(std::uint64_t position) {
    piece_ = 0;
    while (piece_ < body_->size() && position >= (*body_)[piece_]->size())
      position -= (*body_)[piece_++]->size();
    offset_ = piece_ < body_->size() ? position : 0;
    return piece_ < body_->size() || position == 0;
  }

 private:
  const Body* body_;
  std::size_t piece_ = 0;
  std::size_t offset_ = 0;
};

}  // namespace ratchet
