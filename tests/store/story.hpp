#pragma once
// Runs that grow, in the words of the domain: a `Story` makes the commits of one run, with records, rows and
// an audit chain as the runtime would make them.

#include <algorithm>
#include <string>

#include "runtime/journal.hpp"
#include "store/pack.hpp"

namespace ratchet::stories {

inline RunId run_id(std::uint64_t number) {
  RunId id;
  id.ulid.bytes[0] = 1;
  for (int i = 0; i < 8; ++i)
    id.ulid.bytes[15 - i] = static_cast<std::uint8_t>(number >> (8 * i));
  return id;
}

inline ArtifactId artifact_id(std::uint64_t number) {
  return {run_id(number).ulid};
}

inline ApprovalId approval_id(std::uint64_t number) {
  return {run_id(number).ulid};
}

inline ApprovalQuery approvals_of(std::string team, std::optional<ApprovalStatus> status = std::nullopt) {
  ApprovalQuery query;
  query.team = std::move(team);
  query.status = status;
  return query;
}

inline constexpr Timestamp first_day{1'700'000'000'000'000};

/// Text that does not compress to nothing, other for each seed.
inline std::string text(std::uint64_t seed, std::size_t bytes) {
  static constexpr std::string_view words[] = {"the ",
                                               "order ",
                                               "was ",
                                               "refused ",
                                               "because ",
                                               "customer ",
                                               "limit ",
                                               "again ",
                                               "invoice ",
                                               "total ",
                                               "of ",
                                               "ticket ",
                                               "queue ",
                                               "replied ",
                                               "with ",
                                               "status "};
  std::string out;
  std::uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
  while (out.size() < bytes) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    out += words[state % std::size(words)];
    if (state >> 40 & 1) out += std::to_string(state >> 44);
  }
  out.resize(bytes);
  return out;
}

class Story {
 public:
  explicit Story(std::uint64_t number, std::string team = "payments") : number_(number) {
    row_.run_id = run_id(number);
    row_.root_run_id = row_.run_id;
    row_.team = std::move(team);
    row_.agent_id = "support";
    row_.agent_version = 3;
    row_.user_id = "user-17";
    row_.created_at = first_day.plus_ms(static_cast<std::int64_t>(number));
    row_.deadline_at = row_.created_at.plus_ms(600'000);
    row_.model = "sonnet";
    row_.harness_version = "0.1.0";
  }

  RunRow& row() { return row_; }

  /// Makes it a run that `parent` has started.
  Story& below(const Story& parent) {
    row_.parent_run_id = parent.row_.run_id;
    row_.root_run_id = parent.row_.root_run_id;
    row_.depth = parent.row_.depth + 1;
    return *this;
  }

  const RunId& id() const { return row_.run_id; }

  const std::vector<Record>& records() const { return records_; }

  /// The next append: `events` messages of `bytes` each. The story goes on as if it succeeded.
  RunAppend next(std::uint32_t events = 1, std::size_t bytes = 200) {
    std::vector<Payload> payloads;
    for (std::uint32_t i = 0; i < events; ++i) {
      MessageReceived message;
      message.content = text_content(text(number_ * 1000 + row_.last_seq + 1 + i, bytes));
      message.from = "test";
      payloads.emplace_back(std::move(message));
    }
    return next(std::move(payloads));
  }

  /// The next append, of these events, all of one step.
  RunAppend next(std::vector<Payload> payloads, std::uint32_t step = 0) {
    before_ = row_;
    Record record{row_.head, {}, {}};
    record.salt.fill(static_cast<std::uint8_t>(number_ + row_.last_seq));
    RunAppend append;
    append.first_seq = row_.last_seq + 1;
    append.events = static_cast<std::uint32_t>(payloads.size());
    for (Payload& payload : payloads) {
      const std::uint64_t seq = ++row_.last_seq;
      record.events.push_back({seq,
                               row_.created_at.plus_ms(static_cast<std::int64_t>(seq)),
                               step,
                               row_.lease,
                               std::move(payload)});
    }
    append.record = pack_record(encode(record));
    row_.head = chain_head(record);
    append.row = row_;
    records_.push_back(std::move(record));
    return append;
  }

  Commit commit(std::uint32_t events = 1, std::size_t bytes = 200) {
    Commit commit;
    commit.runs.push_back(next(events, bytes));
    return commit;
  }

  /// Only the row changes.
  Commit activate() {
    ++row_.lease;
    Commit commit;
    RunAppend& append = commit.runs.emplace_back();
    append.first_seq = row_.last_seq + 1;
    append.row = row_;
    return commit;
  }

  /// The next append, with a blob of these bytes.
  Commit commit_with_blob(std::uint64_t artifact, std::string bytes) {
    const RunRow before = row_;
    ArtifactRef ref{artifact_id(artifact), ++row_.blobs, bytes.size(), sha256(bytes), bytes.substr(0, 8)};
    Commit made = commit();
    made.runs[0].blobs.push_back({std::move(ref), std::move(bytes)});
    before_ = before;
    return made;
  }

  /// The next append, which asks for this approval, or decides it.
  Commit commit_with_approval(std::uint64_t approval, ApprovalStatus status = ApprovalStatus::pending) {
    Commit made = commit();
    made.runs[0].approvals.push_back(approval_row(approval, status));
    return made;
  }

  ApprovalRow approval_row(std::uint64_t approval, ApprovalStatus status = ApprovalStatus::pending) const {
    ApprovalRow asked;
    asked.approval_id = approval_id(approval);
    asked.run_id = row_.run_id;
    asked.root_run_id = row_.root_run_id;
    asked.team = row_.team;
    asked.agent_id = row_.agent_id;
    asked.user_id = row_.user_id;
    asked.call_id = "call_" + std::to_string(approval);
    asked.tool = "refund";
    asked.args_hash = sha256("arguments");
    asked.required_seq = row_.last_seq;
    asked.status = status;
    asked.asked_at = row_.created_at;
    asked.expires_at = row_.created_at.plus_ms(1000);
    if (status == ApprovalStatus::pending) return asked;
    asked.decision = ApprovalDecision::approve;
    asked.by = "key:boss";
    return asked;
  }

  Commit commit_with_token(std::string token) {
    Commit made = commit();
    made.runs[0].user_token = std::move(token);
    return made;
  }

  /// The last append was refused: the story is as it was before it.
  void take_back() {
    row_ = before_;
    records_.pop_back();
  }

 private:
  std::uint64_t number_;
  RunRow row_, before_;
  std::vector<Record> records_;
};

}  // namespace ratchet::stories
