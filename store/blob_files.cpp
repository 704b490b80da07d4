#include "store/blob_files.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "store/crc32c.hpp"
#include "store/file.hpp"

namespace ratchet {

namespace {

constexpr std::string_view fresh_suffix = ".fresh";

struct BlobName {
  RunId run;
  std::uint32_t n = 0;
};

std::optional<BlobName> parse_name(std::string_view name) {
  const auto dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto run = parse_ulid(name.substr(0, dash));
  BlobName parsed;
  const std::string_view number = name.substr(dash + 1);
  const auto [end, error] = std::from_chars(number.begin(), number.end(), parsed.n);
  if (!run || error != std::errc() || end != number.end()) return std::nullopt;
  parsed.run.ulid = *run;
  return parsed;
}

}  // namespace

std::vector<std::uint32_t> part_checksums(std::string_view bytes) {
  std::vector<std::uint32_t> checksums;
  for (std::size_t at = 0; at < bytes.size(); at += layout::blob_part_bytes)
    checksums.push_back(crc32c(0, bytes.substr(at, layout::blob_part_bytes)));
  return checksums;
}

std::string BlobFiles::path(const RunId& run, std::uint32_t n) const {
  return fmt::format("{}/{}-{}", directory_, to_string(run.ulid), n);
}

int BlobFiles::write(const RunId& run, std::uint32_t n, std::string_view bytes) {
  if (mkdir(directory_.c_str(), 0700) == 0) {
    const std::string parent = std::filesystem::path(directory_).parent_path().string();
    if (const int code = durable_ ? flush_directory(parent) : 0) return code;
  } else if (errno != EEXIST) {
    return errno;
  }
  const std::string final = path(run, n);
  const std::string fresh = final + std::string(fresh_suffix);
  fresh_.push_back(fresh);
  const File file(fresh, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return errno;
  if (const int code = write_all(file.get(), bytes)) return code;
  if (durable_ && fsync(file.get()) != 0) return errno;
  if (rename(fresh.c_str(), final.c_str()) != 0) return errno;
  fresh_.back() = final;
  return 0;
}

int BlobFiles::flush_names() {
  return fresh_.empty() || !durable_ ? 0 : flush_directory(directory_);
}

void BlobFiles::discard() {
  // What cannot be removed now is removed at the next start.
  for (const std::string& path : fresh_)
    unlink(path.c_str());
  fresh_.clear();
}

Result<std::string> BlobFiles::read(const RunId& run,
                                    std::uint32_t n,
                                    const layout::StoredBlob& blob,
                                    std::uint64_t offset,
                                    std::uint64_t limit) const {
  const std::string where = path(run, n);
  const auto damaged = [&](std::string_view why) {
    return fail(ErrorCode::corrupt, fmt::format("blob {} of {} ({}): {}", n, to_string(run), where, why));
  };
  offset = std::min(offset, blob.file_bytes);
  limit = std::min(limit, blob.file_bytes - offset);
  const File file(where, O_RDONLY);
  if (!file) return damaged(std::generic_category().message(errno));

  std::string out, part;
  out.reserve(limit);
  const std::uint64_t end = offset + limit;
  for (std::uint64_t at = offset - offset % layout::blob_part_bytes; at < end;
       at += layout::blob_part_bytes) {
    part.resize(std::min<std::uint64_t>(layout::blob_part_bytes, blob.file_bytes - at));
    if (!read_all(file.get(), part, at)) return damaged(fmt::format("cannot be read at byte {}", at));
    if (crc32c(0, part) != blob.part_checksums[at / layout::blob_part_bytes])
      return damaged(fmt::format("bytes from {} on fail their checksum", at));
    const std::uint64_t from = std::max(offset, at) - at;
    out.append(part, from, std::min<std::uint64_t>(part.size(), end - at) - from);
  }
  return out;
}

Result<void> BlobFiles::sweep(const std::function<bool(const RunId&, std::uint32_t)>& is_known) {
  std::error_code error;
  if (!std::filesystem::exists(directory_, error)) return {};
  for (std::filesystem::directory_iterator at(directory_, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    const auto blob = parse_name(name);
    // Files that we never write are not ours to remove.
    const bool orphan = blob ? !is_known(blob->run, blob->n) : name.ends_with(fresh_suffix);
    if (orphan && unlink(at->path().c_str()) != 0) error = {errno, std::generic_category()};
  }
  if (error)
    return fail(ErrorCode::store_unavailable,
                fmt::format("cannot sweep {}: {}", directory_, error.message()));
  return {};
}

}  // namespace ratchet
