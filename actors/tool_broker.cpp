#include "actors/tool_broker.hpp"

#include <cctype>
#include <chrono>

#include <fmt/format.h>

#include "actors/replays.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/builtin_http_get.hpp"
#include "runtime/tools/http_template.hpp"

namespace ratchet {

namespace {

CallEnd ended(ToolStatus status, std::string text) {
  CallEnd end;
  end.status = status;
  end.text = std::move(text);
  return end;
}

/// The end of a call of which nothing has left the process. A check that cannot be asked says nothing about
/// the call.
CallEnd not_sent(Execution execution, ToolStatus status, std::string text) {
  CallEnd end = ended(status, std::move(text));
  if (execution == Execution::status_check) end.kind = CallEnd::Kind::unknown;
  return end;
}

/// Puts a remark wherever `secret` stands. A development token may begin other words: those stay.
void hide(std::string& text, std::string_view secret) {
  constexpr std::string_view remark = "[the user's credential]";
  if (secret.empty()) return;
  const bool is_word = secret.starts_with("dev:");
  const auto goes_on = [&](std::size_t end) {
    return end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0;
  };
  for (std::size_t at = 0; (at = text.find(secret, at)) != std::string::npos;) {
    const bool stays = is_word && goes_on(at + secret.size());
    if (!stays) text.replace(at, secret.size(), remark);
    at += stays ? secret.size() : remark.size();
  }
}

}  // namespace

/// What a request needs from its start to its end.
struct ToolBroker::Sending {
  std::shared_ptr<const ToolManifest> tool;
  Execution execution;
  ConnectorCall call;
  std::string bearer;  ///< a secret; empty: none
  OnDone done;
};

ToolBroker::ToolBroker(JournalReader& journal,
                       Connector& connector,
                       Clock& clock,
                       Credentials& credentials,
                       Sandboxes& sandboxes,
                       std::vector<std::string> http_get_endpoints)
    : journal_(journal),
      connector_(connector),
      clock_(clock),
      credentials_(credentials),
      sandboxes_(sandboxes),
      http_get_endpoints_(std::move(http_get_endpoints)),
      worker_([this] { run_jobs(); }) {}

ToolBroker::~ToolBroker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    live_jobs_.clear();
  }
  changed_.notify_all();
  worker_.join();
}

ToolBroker::Ticket ToolBroker::start(const Caller& caller,
                                     const action::StartCall& call,
                                     OnDone done,
                                     OnOutput on_output) {
  Ticket ticket;
  {
    const std::lock_guard lock(mutex_);
    ticket = ++last_ticket_;
  }
  // The rules of the run let no such call come here. Whatever mistake brings it, it ends here.
  if (caller.replay && !may_execute(*caller.replay, *call.tool)) {
    done(ended(ToolStatus::not_replayable, "This run is a replay, and the call was not executed."));
    return ticket;
  }
  if (call.tool->kind == ToolKind::http || is_http_get(*call.tool)) {
    start_request(ticket, caller, call, std::move(done));
    return ticket;
  }
  if (call.tool->sandboxed()) {
    start_sandboxed(ticket, caller, call, std::move(done), std::move(on_output));
    return ticket;
  }
  const std::string tool = call.tool->name;
  const std::int64_t timeout_ms = call.tool->timeout_ms;
  auto work = [this,
               run = caller.run,
               root = caller.root,
               tool,
               args = call.args,
               ticket,
               timeout_ms,
               bytes_max = call.answer_bytes_max] {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    const auto stop = [this, ticket, deadline] {
      if (std::chrono::steady_clock::now() >= deadline) return true;
      const std::lock_guard lock(mutex_);
      return !live_jobs_.contains(ticket);
    };
    return read_artifact(run, root, tool, args, {bytes_max, stop});
  };
  {
    const std::lock_guard lock(mutex_);
    live_jobs_.insert(ticket);
    jobs_.push_back({ticket, std::move(work), std::move(done)});
  }
  changed_.notify_one();
  return ticket;
}

std::string ToolBroker::over_rate(const Caller& caller, const action::StartCall& call) {
  if (!call.tool->rate_limit || call.execution != Execution::call || call.effect.attempt > 1) return {};
  const std::string key = rate_key(*call.tool, caller.team, caller.user_id, to_string(caller.run));
  const auto wait_ms = rates_.take(key, *call.tool->rate_limit, clock_.now());
  if (!wait_ms) return {};
  return fmt::format("{} was called too often, so this call was not sent. There is room again in {} s.",
                     call.tool->name,
                     (*wait_ms + 999) / 1'000);
}

void ToolBroker::start_sandboxed(
    Ticket ticket, const Caller& caller, const action::StartCall& call, OnDone done, OnOutput on_output) {
  auto command = command_of(*call.tool, call.args);
  if (!command) return done(ended(ToolStatus::invalid, command.error().text));
  if (auto why = over_rate(caller, call); !why.empty()) return done(ended(ToolStatus::error, std::move(why)));
  {
    const std::lock_guard lock(mutex_);
    sandboxed_.emplace(ticket, 0);
  }
  auto on_done = [this, ticket, done = std::move(done)](CallEnd end) {
    {
      const std::lock_guard lock(mutex_);
      if (sandboxed_.erase(ticket) == 0) return;
    }
    done(std::move(end));
  };
  std::vector<WorkspaceFile> files;
  if (call.tool->uses_workspace() && !call.workspace) files = inputs_of(caller.run);
  const Sandboxes::Ticket at_sandboxes = sandboxes_.start(caller.run,
                                                          call.tool,
                                                          std::move(*command),
                                                          call.workspace,
                                                          std::move(files),
                                                          std::move(on_output),
                                                          std::move(on_done));
  const std::lock_guard lock(mutex_);
  if (const auto entry = sandboxed_.find(ticket); entry != sandboxed_.end()) entry->second = at_sandboxes;
}

std::vector<WorkspaceFile> ToolBroker::inputs_of(const RunId& run) {
  std::vector<WorkspaceFile> files;
  const auto records = journal_.records(run, 1, 1);
  if (!records || records->empty()) return files;
  const auto* started = std::get_if<RunStarted>(&records->front().events.front().payload);
  if (!started) return files;
  for (const Block& block : started->input) {
    if (!block.artifact || block.artifact->bytes > limits::sandbox_input_bytes_max) continue;
    auto bytes = journal_.blob(block.artifact->id, 0, block.artifact->bytes);
    if (bytes) files.push_back({input_path(block.artifact->id), std::move(*bytes)});
  }
  return files;
}

void ToolBroker::start_request(Ticket ticket,
                               const Caller& caller,
                               const action::StartCall& call,
                               OnDone done) {
  const bool check = call.execution == Execution::status_check;
  auto request = is_http_get(*call.tool) ? http_get_request(*call.tool, call.args, http_get_endpoints_)
                 : check
                     ? render_status_check(*call.tool, call.args, call.idempotency_key, call.effect.call_id)
                     : render_call(*call.tool, call.args, call.idempotency_key);
  if (!request) return done(not_sent(call.execution, ToolStatus::invalid, request.error().text));
  if (auto why = over_rate(caller, call); !why.empty()) return done(ended(ToolStatus::error, std::move(why)));
  auto sending =
      std::make_shared<Sending>(Sending{call.tool, call.execution, std::move(*request), {}, std::move(done)});
  // The entry stands before anything begins, because its end may come before that returns.
  {
    const std::lock_guard lock(mutex_);
    requests_.emplace(ticket, Request{});
  }
  if (call.tool->auth.as_user) return add_credential(ticket, caller.run, call, sending);
  send(ticket, sending);
}

void ToolBroker::add_credential(Ticket ticket,
                                const RunId& run,
                                const action::StartCall& call,
                                const std::shared_ptr<Sending>& sending) {
  const auto token = journal_.user_token(run);
  if (!token) {
    const bool none = token.error().code == ErrorCode::not_found;
    return end(
        ticket,
        *sending,
        not_sent(call.execution,
                 none ? ToolStatus::denied : ToolStatus::error,
                 none ? "This tool acts as the user, and this run has no user's token. Nothing was sent."
                      : "The user's token could not be read, so nothing was sent."));
  }
  if (call.token_expires_at && *call.token_expires_at <= clock_.now())
    return credential_came(ticket, sending, {.kind = ExchangeAnswer::Kind::needs_user});
  const auto at_credentials =
      credentials_.get(*token, call.tool->auth, [this, ticket, sending](ExchangeAnswer answer) {
        credential_came(ticket, sending, std::move(answer));
      });
  const std::lock_guard lock(mutex_);
  if (const auto entry = requests_.find(ticket); entry != requests_.end())
    entry->second.at_credentials = at_credentials;
}

void ToolBroker::credential_came(Ticket ticket,
                                 const std::shared_ptr<Sending>& sending,
                                 ExchangeAnswer answer) {
  switch (answer.kind) {
    case ExchangeAnswer::Kind::needs_user: {
      CallEnd needs_user;
      needs_user.kind = CallEnd::Kind::needs_user;
      return end(ticket, *sending, std::move(needs_user));
    }
    case ExchangeAnswer::Kind::failed:
      return end(ticket,
                 *sending,
                 not_sent(sending->execution,
                          ToolStatus::error,
                          "There is no credential for this tool, so nothing was sent: " + answer.why));
    case ExchangeAnswer::Kind::token:
      sending->bearer = std::move(answer.token);
      sending->call.headers.emplace_back("Authorization", "Bearer " + sending->bearer);
      return send(ticket, sending);
  }
}

void ToolBroker::send(Ticket ticket, const std::shared_ptr<Sending>& sending) {
  {
    const std::lock_guard lock(mutex_);
    if (!requests_.contains(ticket)) return;
  }
  const Connector::Ticket at_connector =
      connector_.start(std::move(sending->call), [this, ticket, sending](ConnectorOutcome outcome) {
        // What a service repeats of a request is its word; the credential in it is not.
        hide(outcome.body, sending->bearer);
        CallEnd told = interpret(*sending->tool, sending->execution, outcome);
        told.text = sanitize_utf8(told.text);
        end(ticket, *sending, std::move(told));
      });
  {
    const std::lock_guard lock(mutex_);
    const auto entry = requests_.find(ticket);
    if (entry != requests_.end()) {
      entry->second.at_connector = at_connector;
      return;
    }
  }
  connector_.cancel(at_connector);  // it has ended, or was cancelled while it was being started
}

void ToolBroker::end(Ticket ticket, Sending& sending, CallEnd end) {
  {
    const std::lock_guard lock(mutex_);
    if (requests_.erase(ticket) == 0) return;
  }
  sending.done(std::move(end));
}

CallEnd ToolBroker::read_artifact(const RunId& run,
                                  const RunId& root,
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
  if (!owner || !may_read(journal_, run, root, owner->root_run_id))
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

bool ToolBroker::cancel(Ticket ticket, std::function<void()> gone) {
  Request request;
  Sandboxes::Ticket at_sandboxes = 0;
  {
    const std::lock_guard lock(mutex_);
    live_jobs_.erase(ticket);
    if (const auto entry = requests_.extract(ticket)) request = entry.mapped();
    if (const auto entry = sandboxed_.extract(ticket)) at_sandboxes = entry.mapped();
  }
  if (request.at_credentials != 0) credentials_.cancel(request.at_credentials);
  if (request.at_connector != 0) connector_.cancel(request.at_connector);
  if (at_sandboxes == 0) return true;
  sandboxes_.stop(at_sandboxes, std::move(gone));
  return false;
}

void ToolBroker::release(const RunId& run) {
  sandboxes_.release(run);
}

}  // namespace ratchet
