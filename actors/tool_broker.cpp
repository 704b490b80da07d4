#include "actors/tool_broker.hpp"

#include <chrono>

#include "runtime/json/utf8.hpp"
#include "runtime/tools/http_template.hpp"

namespace ratchet {

namespace {

CallEnd ended(ToolStatus status, std::string text) {
  CallEnd end;
  end.status = status;
  end.text = std::move(text);
  return end;
}

}  // namespace

ToolBroker::ToolBroker(JournalReader& journal, Connector& connector)
    : journal_(journal), connector_(connector), worker_([this] { run_jobs(); }) {}

ToolBroker::~ToolBroker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    live_jobs_.clear();
  }
  changed_.notify_all();
  worker_.join();
}

ToolBroker::Ticket ToolBroker::start(const RunId& run,
                                     const RunId& root,
                                     const action::StartCall& call,
                                     OnDone done) {
  Ticket ticket;
  {
    const std::lock_guard lock(mutex_);
    ticket = ++last_ticket_;
  }
  if (call.tool->kind == ToolKind::http) {
    start_request(ticket, call, std::move(done));
    return ticket;
  }
  const std::string tool = call.tool->name;
  const std::int64_t timeout_ms = call.tool->timeout_ms;
  auto work =
      [this, run, root, tool, args = call.args, ticket, timeout_ms, bytes_max = call.answer_bytes_max] {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
        const auto stop = [this, ticket, deadline] {
          if (std::chrono::steady_clock::now() >= deadline) return true;
          const std::lock_guard lock(mutex_);
          return !live_jobs_.contains(ticket);
        };
        return read_artifact(root, tool, args, {bytes_max, stop});
      };
  {
    const std::lock_guard lock(mutex_);
    live_jobs_.insert(ticket);
    jobs_.push_back({ticket, std::move(work), std::move(done)});
  }
  changed_.notify_one();
  return ticket;
}

void ToolBroker::start_request(Ticket ticket, const action::StartCall& call, OnDone done) {
  const bool check = call.execution == Execution::status_check;
  auto request = check ? render_status_check(*call.tool, call.args, call.idempotency_key, call.effect.call_id)
                       : render_call(*call.tool, call.args, call.idempotency_key);
  if (!request) {
    // Nothing left the process. A check that cannot be asked says nothing about the call.
    CallEnd end = ended(ToolStatus::invalid, request.error().text);
    if (check) end.kind = CallEnd::Kind::unknown;
    return done(std::move(end));
  }
  // The entry stands before the request begins, because its end may come before `start` returns.
  {
    const std::lock_guard lock(mutex_);
    requests_.emplace(ticket, 0);
  }
  const Connector::Ticket at_connector =
      connector_.start(std::move(*request),
                       [this, ticket, tool = call.tool, execution = call.execution, done = std::move(done)](
                           ConnectorOutcome outcome) {
                         {
                           const std::lock_guard lock(mutex_);
                           requests_.erase(ticket);
                         }
                         CallEnd end = interpret(*tool, execution, outcome);
                         end.text = sanitize_utf8(end.text);
                         done(std::move(end));
                       });
  const std::lock_guard lock(mutex_);
  const auto entry = requests_.find(ticket);
  if (entry != requests_.end()) entry->second = at_connector;
}

CallEnd ToolBroker::read_artifact(const RunId& root,
                                  const std::string& tool,
                                  const std::string& args,
                                  const ArtifactBounds& bounds) {
  const auto wanted = artifact_of(args);
  if (!wanted) return ended(ToolStatus::invalid, wanted.error().text);
  const auto id = parse_id<ArtifactKind>(*wanted);
  if (!id) return ended(ToolStatus::invalid, "There is no artifact of this id: " + id.error().text + ".");
  const auto info = journal_.artifact(*id);
  // An artifact of another root run is answered exactly like one that does not exist.
  const auto owner = info ? journal_.row(info->run) : Result<RunRow>(tl::unexpected(info.error()));
  if (!owner || owner->root_run_id != root)
    return ended(ToolStatus::error, "There is no artifact of this id in this run.");

  ArtifactSource source;
  source.bytes = info->ref.bytes;
  source.read = [this, id = *id](std::uint64_t offset, std::size_t limit) {
    return journal_.blob(id, offset, limit);
  };
  ToolAnswer answer =
      tool == "artifact_search" ? artifact_search(source, args, bounds) : artifact_read(source, args, bounds);
  return ended(answer.status, std::move(answer.text));
}

void ToolBroker::run_jobs() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    if (!live_jobs_.contains(job.ticket)) continue;
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    CallEnd end = job.work();
    end.latency_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin)
            .count();
    lock.lock();
    if (live_jobs_.erase(job.ticket) == 0) continue;
    lock.unlock();
    job.done(std::move(end));
    lock.lock();
  }
}

void ToolBroker::cancel(Ticket ticket) {
  Connector::Ticket at_connector = 0;
  {
    const std::lock_guard lock(mutex_);
    live_jobs_.erase(ticket);
    const auto entry = requests_.find(ticket);
    if (entry == requests_.end()) return;
    at_connector = entry->second;
    requests_.erase(entry);
  }
  if (at_connector != 0) connector_.cancel(at_connector);
}

}  // namespace ratchet
