// The bytes of artifacts: whole, by `offset` and `limit`, or by Range (RFC 9110, 14).

#include <charconv>
#include <mutex>

#include <fmt/format.h>

#include "http/routes/parameters.hpp"
#include "http/routes/reads.hpp"
#include "http/routes/route.hpp"
#include "http/server/workers.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

/// Part of an artifact: from `offset` on, `bytes` of them.
struct Extent {
  std::uint64_t offset = 0, bytes = 0;
  bool range = false;  ///< asked for by Range: answered 206
};

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// One range of bytes; nothing for what is to be ignored: several ranges, other units, bad syntax.
Result<std::optional<Extent>> read_range(std::string_view text, std::uint64_t size) {
  constexpr std::string_view unit = "bytes=";
  if (!text.starts_with(unit)) return std::nullopt;
  text.remove_prefix(unit.size());
  const auto dash = text.find('-');
  if (dash == std::string_view::npos || text.find(',') != std::string_view::npos) return std::nullopt;
  const auto first = number(text.substr(0, dash)), last = number(text.substr(dash + 1));
  if (dash > 0 && !first) return std::nullopt;
  if (dash + 1 < text.size() && !last) return std::nullopt;
  const auto unsatisfiable = [&] {
    return fail(ErrorCode::range_not_satisfiable, fmt::format("the artifact has {} bytes", size));
  };
  if (!first) {  // the last so many bytes
    if (!last) return std::nullopt;
    if (*last == 0 || size == 0) return unsatisfiable();
    const auto bytes = std::min(*last, size);
    return Extent{size - bytes, bytes, true};
  }
  if (last && *last < *first) return std::nullopt;
  if (*first >= size) return unsatisfiable();
  const auto end = last ? std::min(*last, size - 1) : size - 1;
  return Extent{*first, end - *first + 1, true};
}

Result<Extent> read_extent(const Call& call, std::uint64_t size) {
  const auto& query = call.target.query;
  const auto offset = integer_parameter(query, "offset", 0, INT64_MAX);
  if (!offset) return tl::unexpected(offset.error());
  const auto limit = integer_parameter(query, "limit", 1, INT64_MAX);
  if (!limit) return tl::unexpected(limit.error());
  if (*offset || *limit) {
    const auto from = std::min(static_cast<std::uint64_t>(offset->value_or(0)), size);
    const auto bytes = static_cast<std::uint64_t>(limit->value_or(INT64_MAX));
    return Extent{from, std::min(bytes, size - from), false};
  }
  if (const auto header = call.request.header("Range")) {
    const auto range = read_range(*header, size);
    if (!range) return tl::unexpected(range.error());
    if (*range) return **range;
  }
  return Extent{0, size, false};
}

/// Bytes of an artifact as a client sees them: as many as there are, whatever is hidden. Secrets are looked
/// for in what lies around them too.
class ArtifactBytes {
 public:
  /// `redactor` null: every byte is shown.
  ArtifactBytes(JournalReader& journal, ArtifactId id, std::shared_ptr<const Redactor> redactor)
      : journal_(journal), id_(id), redactor_(std::move(redactor)) {}

  Result<std::string> read(std::uint64_t offset, std::uint64_t bytes) const {
    if (!redactor_) return journal_.blob(id_, offset, bytes);
    const std::uint64_t before = std::min<std::uint64_t>(offset, limits::redact_margin_bytes);
    auto around = journal_.blob(id_, offset - before, before + bytes + limits::redact_margin_bytes);
    if (!around) return around;
    auto masked = redactor_->masked(*around);
    return (masked ? *masked : *around).substr(std::min<std::size_t>(before, around->size()), bytes);
  }

 private:
  JournalReader& journal_;
  const ArtifactId id_;
  const std::shared_ptr<const Redactor> redactor_;
};

/// Bytes of an artifact, a slice at a time, the next one once the client has taken the one before.
class ArtifactStream final : public BodyStream, public std::enable_shared_from_this<ArtifactStream> {
 public:
  ArtifactStream(ArtifactBytes source, Workers& workers, Extent extent)
      : source_(std::move(source)), workers_(workers), extent_(extent) {}

  void start(std::function<void()> wake) override {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
    request();
  }

  bool take(std::size_t, Pieces& out) override {
    const std::lock_guard lock(mutex_);
    if (failed_) return false;
    if (slice_.empty()) return true;
    extent_.offset += slice_.size();
    extent_.bytes -= slice_.size();
    out.add(std::exchange(slice_, {}));
    if (extent_.bytes == 0) return false;
    request();
    return true;
  }

  void stop() override {
    const std::lock_guard lock(mutex_);
    failed_ = true;
  }

 private:
  void request() {
    failed_ = !workers_.post([self = shared_from_this(), extent = extent_] { self->read(extent); });
  }

  /// On a worker. What cannot be read ends the body short of its length, which the client notices.
  void read(Extent extent) {
    auto bytes =
        source_.read(extent.offset, std::min<std::uint64_t>(extent.bytes, limits::artifact_slice_bytes));
    std::function<void()> wake;
    {
      const std::lock_guard lock(mutex_);
      if (failed_) return;
      if (bytes && !bytes->empty())
        slice_ = std::move(*bytes);
      else
        failed_ = true;
      wake = wake_;
    }
    wake();
  }

  const ArtifactBytes source_;
  Workers& workers_;

  std::mutex mutex_;  ///< guards all below
  Extent extent_;     ///< what was not taken yet
  std::string slice_;
  bool failed_ = false;
  std::function<void()> wake_;
};

Result<JournalReader::ArtifactInfo> find_artifact(Api& api, const Call& call, const ArtifactId& id) {
  const auto missing = [&] {
    return fail(ErrorCode::unknown_artifact, fmt::format("there is no artifact {}", to_string(id)));
  };
  auto info = api.journal.artifact(id);
  if (!info && info.error().code == ErrorCode::unknown_artifact) return missing();
  if (!info) return info;
  const auto row = api.journal.row(info->run);
  if (!row) return tl::unexpected(row.error());
  if (row->team != call.client.team) return missing();
  return info;
}

/// What of the run's artifacts the client is not shown; null: nothing is hidden. Errors: forbidden, where a
/// tool hides part of its results: which artifact is one of those is not known.
Result<std::shared_ptr<const Redactor>> redactor_of(Api& api, const Call& call, const RunId& run) {
  const auto row = api.journal.row(run);
  if (!row) return tl::unexpected(row.error());
  const auto view = view_of(api, call.client, *row);
  if (!view) return tl::unexpected(view.error());
  if (!*view) return nullptr;
  if ((*view)->has_hiding_tools())
    return fail(ErrorCode::forbidden,
                fmt::format("a tool of run {} hides part of its results: its artifacts need the role audit",
                            to_string(run)));
  return (*view)->redactor();
}

Result<Response> get(Api& api, const Call& call) {
  const auto id = parse_id<ArtifactKind>(call.ids.at(0));
  if (!id) return tl::unexpected(id.error());
  const auto info = find_artifact(api, call, *id);
  if (!info) return tl::unexpected(info.error());
  auto redactor = redactor_of(api, call, info->run);
  if (!redactor) return tl::unexpected(redactor.error());
  ArtifactBytes source(api.journal, *id, std::move(*redactor));
  const auto extent = read_extent(call, info->ref.bytes);
  if (!extent) return tl::unexpected(extent.error());
  Response response;
  response.headers = {{"Content-Type", "application/octet-stream"},
                      {"Accept-Ranges", "bytes"},
                      {"ETag", fmt::format("\"{}\"", to_string(info->ref.sha256))}};
  if (extent->range) {
    response.status = 206;
    response.headers.emplace_back(
        "Content-Range",
        fmt::format("bytes {}-{}/{}", extent->offset, extent->offset + extent->bytes - 1, info->ref.bytes));
  }
  if (extent->bytes > limits::artifact_slice_bytes) {
    response.stream = std::make_shared<ArtifactStream>(std::move(source), api.workers, *extent);
    response.stream_bytes = extent->bytes;
    return response;
  }
  auto bytes =
      extent->bytes == 0 ? Result<std::string>(std::string()) : source.read(extent->offset, extent->bytes);
  if (!bytes) return tl::unexpected(bytes.error());
  response.body = std::move(*bytes);
  return response;
}

}  // namespace

std::vector<Route> artifact_routes() {
  return {
      {"GET", "/v1/artifacts/{artifact_id}", Roles{Role::read, Role::audit}, {"offset", "limit"}, now<get>}};
}

}  // namespace ratchet
