#include "sandbox/workspace/local_workspaces.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_set>

#include <fmt/format.h>

#include "sandbox/workers.hpp"
#include "sandbox/workspace/files.hpp"
#include "sandbox/workspace/open_workspace.hpp"
#include "sandbox/workspace/protection.hpp"

namespace ratchet {

using sandbox::Manifest;
using sandbox::ManifestEntry;
using sandbox::ObjectName;
using sandbox::ObjectNames;
using sandbox::Objects;
using sandbox::OpenWorkspace;

namespace {

constexpr std::uint64_t spare_inodes = 1'000;  // for directories that are copied up with what is in them
constexpr char probe_name[] = "probe";
constexpr char sweep_key[] = "sweep";

tl::unexpected<Error> unavailable(const std::string& path, int code) {
  return fail(ErrorCode::sandbox_unavailable, fmt::format("{}: {}", path, sandbox::errno_text(code)));
}

Result<void> make_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0711) == 0 || errno == EEXIST) return {};
  return unavailable(path, errno);
}

Result<std::vector<std::string>> names_in(const std::string& directory) {
  const sandbox::Fd opened = sandbox::open_directory(directory);
  std::vector<std::string> names;
  const int code = opened ? sandbox::list_names(opened.get(), names) : errno;
  if (code != 0) return unavailable(directory, code);
  return names;
}

/// Whatever is there was left by a process that is dead. It gets another place, which costs the same however
/// much it is. `leftovers` has a directory for each start that found something.
Result<void> put_aside(const std::string& directory, const std::string& leftovers) {
  if (auto made = make_directory(leftovers); !made) return made;
  const auto names = names_in(directory);
  if (!names) return tl::unexpected(names.error());
  if (names->empty()) return {};
  for (int number = 0;; ++number) {
    const std::string aside = fmt::format("{}/{}", leftovers, number);
    if (renameat2(AT_FDCWD, directory.c_str(), AT_FDCWD, aside.c_str(), RENAME_NOREPLACE) == 0) break;
    if (errno != EEXIST) return unavailable(directory, errno);
  }
  return make_directory(directory);
}

Result<void> remove_leftovers(const std::string& leftovers) {
  const auto starts = names_in(leftovers);
  if (!starts) return tl::unexpected(starts.error());
  for (const std::string& start : *starts) {
    const std::string aside = leftovers + '/' + start;
    const auto names = names_in(aside);
    if (!names) return tl::unexpected(names.error());
    for (const std::string& name : *names)
      if (auto removed = OpenWorkspace::remove(aside + '/' + name); !removed) return removed;
    if (rmdir(aside.c_str()) != 0) return unavailable(aside, errno);
  }
  return {};
}

Result<Manifest> read_manifest(Objects& objects, const Hash& snapshot) {
  const auto bytes = objects.read({snapshot});
  if (!bytes) return tl::unexpected(bytes.error());
  auto manifest = sandbox::decode_manifest(*bytes);
  if (!manifest)
    return fail(manifest.error().code, fmt::format("{}: {}", to_string(snapshot), manifest.error().text));
  return manifest;
}

void add_files(const Manifest& manifest, ObjectNames& names) {
  for (const ManifestEntry& entry : manifest)
    if (entry.kind == sandbox::EntryKind::file) names.insert({entry.hash, entry.executable});
}

}  // namespace

LocalWorkspacesOptions::LocalWorkspacesOptions() : read_only_paths(sandbox::default_protected_paths()) {}

/// What is done on the threads. Only the work of its run touches an open workspace; the map of them has a
/// lock.
class LocalWorkspaces::Impl {
 public:
  Impl(const LocalWorkspacesOptions& options, std::string directory, std::unique_ptr<Objects> objects)
      : directory_(std::move(directory)),
        objects_(std::move(objects)),
        means_{*objects_,
               options.overlay,
               {options.upper_bytes, limits::workspace_files_max + spare_inodes},
               options.read_only_paths},
        workers_(std::make_unique<sandbox::Workers>(options.threads)) {}

  ~Impl() {
    workers_.reset();
    for (const auto& [run, opened] : open_) {
      // What cannot be removed now is removed at the next start.
      (void)OpenWorkspace::remove(directory(run));
    }
  }

  std::string directory(const RunId& run) const { return directory_ + '/' + to_string(run.ulid); }

  bool is_open(const RunId& run) { return find(run) != nullptr; }

  void find_out_whether_overlays_work() {
    if (!means_.overlay) {
      why_no_overlay_ = "it is switched off";
      return;
    }
    const std::string probe = directory_ + '/' + probe_name;
    const auto opened = OpenWorkspace::open(probe, {}, means_);
    auto removed = opened ? OpenWorkspace::remove(probe) : Result<void>{};
    if (opened && removed) return;
    means_.overlay = false;
    why_no_overlay_ = opened ? removed.error().text : opened.error().text;
  }

  const std::string& why_no_overlay() const { return why_no_overlay_; }

  sandbox::Workers& workers() { return *workers_; }

  Result<void> open(const RunId& run, const std::optional<Hash>& snapshot) {
    if (auto closed = close(run); !closed) return closed;
    Objects::Use use(*objects_);
    Manifest manifest;
    if (snapshot) {
      use.need({*snapshot});
      auto read = read_manifest(*objects_, *snapshot);
      if (!read) return tl::unexpected(read.error());
      manifest = std::move(*read);
      for (const ManifestEntry& entry : manifest)
        if (entry.kind == sandbox::EntryKind::file) use.need({entry.hash, entry.executable});
    }
    auto opened = OpenWorkspace::open(directory(run), std::move(manifest), means_);
    if (!opened) return tl::unexpected(opened.error());
    const std::lock_guard lock(mutex_);
    open_[run] = {std::move(*opened), snapshot};
    return {};
  }

  Result<Hash> snapshot(const RunId& run) {
    Open* opened = find(run);
    if (!opened)
      return fail(ErrorCode::sandbox_unavailable, fmt::format("no workspace of {} is open", to_string(run)));
    Objects::Use use(*objects_);
    auto name = opened->workspace->snapshot(use);
    if (!name) return name;
    const std::lock_guard lock(mutex_);
    opened->latest = *name;
    told_.insert({*name});
    return name;
  }

  /// What cannot be removed in full is open no longer, and is removed before the run opens another one.
  Result<void> close(const RunId& run) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = open_.find(run);
      if (found == open_.end()) return {};
      found->second.workspace.reset();
    }
    if (auto removed = OpenWorkspace::remove(directory(run)); !removed) return removed;
    const std::lock_guard lock(mutex_);
    open_.erase(run);
    return {};
  }

  Result<void> sweep(const std::vector<Hash>& live) {
    objects_->begin_sweep();
    auto swept = mark_and_sweep(live);
    objects_->end_sweep();
    return swept;
  }

 private:
  struct Open {
    std::unique_ptr<OpenWorkspace> workspace;  ///< null: only to be removed
    std::optional<Hash> latest;                ///< the snapshot that the next one takes hashes over from
  };

  Open* find(const RunId& run) {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(run);
    return found == open_.end() || !found->second.workspace ? nullptr : &found->second;
  }

  /// A manifest that cannot be read does not say what it needs, so nothing is removed then.
  Result<void> mark_and_sweep(const std::vector<Hash>& live) {
    ObjectNames manifests, names;
    {
      const std::lock_guard lock(mutex_);
      for (const Hash& hash : live)
        told_.erase({hash});  // the journal has it now, and says when it goes
      manifests = told_;
      for (const auto& [run, opened] : open_)
        if (opened.latest) manifests.insert({*opened.latest});
    }
    for (const Hash& hash : live)
      manifests.insert({hash});
    for (const ObjectName& name : manifests) {
      const auto manifest = read_manifest(*objects_, name.hash);
      if (!manifest) return tl::unexpected(manifest.error());
      add_files(*manifest, names);
    }
    names.merge(manifests);
    return objects_->sweep(names);
  }

  const std::string directory_;
  const std::unique_ptr<Objects> objects_;
  sandbox::WorkspaceMeans means_;
  std::string why_no_overlay_;

  std::mutex mutex_;
  std::map<RunId, Open> open_;
  /// Snapshots that this process took and that no sweep was given yet: their events may be on their way.
  ObjectNames told_;

  std::unique_ptr<sandbox::Workers> workers_;
};

// --- from other threads
// --------------------------------------------------------------------------------------------------

Result<std::unique_ptr<LocalWorkspaces>> LocalWorkspaces::open(const LocalWorkspacesOptions& options) {
  if (auto checked = sandbox::check_protected_paths(options.read_only_paths); !checked)
    return tl::unexpected(checked.error());
  const std::string top = options.data_dir + "/sandbox";
  const std::string directory = top + "/workspaces";
  for (const std::string& path : {top, directory})
    if (auto made = make_directory(path); !made) return tl::unexpected(made.error());
  const std::string leftovers = top + "/leftovers";
  if (auto done = put_aside(directory, leftovers); !done) return tl::unexpected(done.error());
  const sandbox::FileOwner owner{static_cast<uid_t>(options.tool_uid), static_cast<gid_t>(options.tool_gid)};
  auto objects = Objects::open(top + "/objects", owner);
  if (!objects) return tl::unexpected(objects.error());
  auto impl = std::make_unique<Impl>(options, directory, std::move(*objects));
  impl->find_out_whether_overlays_work();
  impl->workers().submit(leftovers, [leftovers, log = options.log] {
    const auto removed = remove_leftovers(leftovers);
    if (!removed && log)
      log(LogLevel::error, "of earlier workspaces something is left: " + removed.error().text);
  });
  return std::unique_ptr<LocalWorkspaces>(new LocalWorkspaces(std::move(impl)));
}

LocalWorkspaces::LocalWorkspaces(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LocalWorkspaces::~LocalWorkspaces() = default;

void LocalWorkspaces::open(const RunId& run, std::optional<Hash> snapshot, OnDone done) {
  impl_->workers().submit(to_string(run), [impl = impl_.get(), run, snapshot, done = std::move(done)] {
    done(impl->open(run, snapshot));
  });
}

void LocalWorkspaces::snapshot(const RunId& run, OnSnapshot done) {
  impl_->workers().submit(to_string(run),
                          [impl = impl_.get(), run, done = std::move(done)] { done(impl->snapshot(run)); });
}

void LocalWorkspaces::close(const RunId& run, OnDone done) {
  impl_->workers().submit(to_string(run),
                          [impl = impl_.get(), run, done = std::move(done)] { done(impl->close(run)); });
}

void LocalWorkspaces::sweep(std::vector<Hash> live, OnDone done) {
  impl_->workers().submit(sweep_key, [impl = impl_.get(), live = std::move(live), done = std::move(done)] {
    done(impl->sweep(live));
  });
}

std::string LocalWorkspaces::directory(const RunId& run) const {
  if (!impl_->is_open(run)) return {};
  return sandbox::WorkspacePlaces{impl_->directory(run)}.merged();
}

std::vector<std::string> LocalWorkspaces::weaker() const {
  if (impl_->why_no_overlay().empty()) return {};
  return {
      fmt::format("workspace: files are copied, and what a command writes is bounded only when it has ended "
                  "({})",
                  impl_->why_no_overlay())};
}

}  // namespace ratchet
