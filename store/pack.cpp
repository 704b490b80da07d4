#include "store/pack.hpp"

#include <memory>

#include <fmt/format.h>
#include <zstd.h>

#include "runtime/limits.hpp"

namespace ratchet {

namespace {

constexpr char form_raw = 0;
constexpr char form_zstd = 1;
constexpr int level = 1;  // 3 saves two percent more for twice the time
constexpr std::size_t saves_min_divisor = 16;

ZSTD_CCtx* compressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context{ZSTD_createCCtx(),
                                                                                  &ZSTD_freeCCtx};
  RATCHET_ENSURE(context != nullptr, "no memory for a compressor");
  return context.get();
}

ZSTD_DCtx* decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context{ZSTD_createDCtx(),
                                                                                  &ZSTD_freeDCtx};
  RATCHET_ENSURE(context != nullptr, "no memory for a decompressor");
  return context.get();
}

tl::unexpected<Error> refuse(std::string_view packed, std::string_view why) {
  return fail(ErrorCode::corrupt, fmt::format("a packed record of {} bytes {}", packed.size(), why));
}

}  // namespace

std::string pack_record(std::string_view record) {
  RATCHET_ENSURE(record.size() <= limits::record_bytes_max, "a record is above its limit");
  std::string packed(1 + ZSTD_compressBound(record.size()), form_zstd);
  const std::size_t bytes = ZSTD_compressCCtx(
      compressor(), packed.data() + 1, packed.size() - 1, record.data(), record.size(), level);
  if (ZSTD_isError(bytes) || bytes > record.size() - record.size() / saves_min_divisor) {
    packed.assign(1, form_raw);
    packed += record;
    return packed;
  }
  packed.resize(1 + bytes);
  packed.shrink_to_fit();
  return packed;
}

Result<std::size_t> unpacked_size(std::string_view packed) {
  if (packed.empty()) return refuse(packed, "has no form");
  if (packed[0] == form_raw) return packed.size() - 1;
  if (packed[0] != form_zstd) return refuse(packed, "is of a form that is not known");
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data() + 1, packed.size() - 1);
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
    return refuse(packed, "does not tell its length");
  if (size > limits::record_bytes_max) return refuse(packed, fmt::format("claims {} bytes", size));
  return static_cast<std::size_t>(size);
}

Result<std::string> unpack_record(std::string_view packed) {
  const auto size = unpacked_size(packed);
  if (!size) return tl::unexpected(size.error());
  if (packed[0] == form_raw) return std::string(packed.substr(1));
  std::string record(*size, '\0');
  const std::size_t bytes =
      ZSTD_decompressDCtx(decompressor(), record.data(), record.size(), packed.data() + 1, packed.size() - 1);
  if (ZSTD_isError(bytes)) return refuse(packed, ZSTD_getErrorName(bytes));
  if (bytes != record.size()) return refuse(packed, "is shorter than it claims");
  return record;
}

}  // namespace ratchet
