// What the store costs by itself: appends a second and bytes a run, at several sizes of batch. Every append
// is one commit; all runs of a batch go on together, as they do under a full node. Packing is done before the
// clock starts: in a node the actors do it.
//
//   bench_store [directory] [fsync|os]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "store/pack.hpp"
#include "store/store.hpp"

namespace ratchet {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int steps = 12;
constexpr int bytes_per_token = 4;

std::uint64_t random_state = 42;

std::uint64_t random_number() {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

/// Words and numbers, which zstd about halves.
std::string text(std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) {
    for (auto letters = random_number() % 7 + 2; letters > 0; --letters)
      out += static_cast<char>('a' + random_number() % 20);
    out += ' ';
    if (random_number() % 4 == 0) out += std::to_string(random_number() % 10'000) + ' ';
  }
  out.resize(bytes);
  return out;
}

Hash random_hash() {
  return sha256(std::to_string(random_number()));
}

ModelRequested request(int step) {
  ModelRequested event;
  event.prompt_hash = random_hash();
  event.request_hash = random_hash();
  event.max_tokens = 1024;
  event.estimated_tokens = 3200 + 850 * step;
  event.reserved = {event.estimated_tokens + 1024, Usd{40'000'000}};
  return event;
}

/// The events of append `n` of a run: start; reply, verdict and plan; result and next request; …; end.
std::vector<Payload> payloads(int n) {
  const int step = n / 2 + 1;
  const std::string call = "call_" + std::to_string(step) + "_1";
  if (n == 0) {
    RunStarted started;
    started.agent_id = "bench";
    started.input = text_content(text(200 * bytes_per_token));
    started.team = "payments";
    started.user_id = "user-17";
    started.harness_version = "0.1.0";
    started.tools = {{"lookup", random_hash()}, {"search", random_hash()}};
    return {started, request(step)};
  }
  if (n % 2 == 0) {
    ToolResult result;
    result.call_id = call;
    result.content = text_content(text(700 * bytes_per_token));
    result.bytes = result.cut_at = 700 * bytes_per_token;
    return {result, request(step)};
  }
  ModelCompleted completed;
  completed.content.resize(1);
  completed.content[0].text = text(150 * bytes_per_token);
  completed.usage.input = 3200;
  if (n == 2 * steps + 1) {
    RunFinished finished;
    finished.result = completed.content[0].text;
    return {completed, finished};
  }
  ToolRequested requested;
  requested.call_id = call;
  requested.tool = "lookup";
  requested.args.text = R"({"query":")" + text(60) + R"("})";
  requested.args_hash = random_hash();
  ToolPlanned planned;
  planned.call_id = call;
  planned.args_hash = requested.args_hash;
  planned.idempotency_key = "run_01ARZ3NDEKTSV4RRFFQ69G5FAV/" + std::to_string(step) + "/" + call;
  return {completed, requested, planned};
}

struct Run {
  RunRow row;
  int appends = 0;

  static constexpr int appends_max = 2 * steps + 2;

  explicit Run(Stamp& stamp) {
    row.run_id = RunId::make(stamp);
    row.root_run_id = row.run_id;
    row.team = "payments";
    row.agent_id = "bench";
    row.user_id = "user-17";
    row.agent_version = 1;
    row.created_at = stamp.at;
    row.deadline_at = stamp.at.plus_ms(600'000);
    row.harness_version = "0.1.0";
    row.model = "default";
    stamp.at.us += 1000;
  }

  Commit next(std::size_t& record_bytes) {
    Record record{row.head, {}, {}};
    const Hash salt = random_hash();
    std::copy_n(salt.bytes.begin(), record.salt.size(), record.salt.begin());
    for (Payload& payload : payloads(appends))
      record.events.push_back({++row.last_seq, row.created_at, row.step, row.lease, std::move(payload)});
    ++appends;
    row.step = static_cast<std::uint32_t>(appends / 2);
    row.usage.input += 3200;
    row.cost_usd.nano += 12'345'678;
    row.status = appends == appends_max ? RunStatus::finished : RunStatus::running;
    row.active = appends < appends_max;
    const std::string bytes = encode(record);
    row.head = chain_head(record);
    record_bytes += bytes.size();
    Commit commit;
    commit.runs.push_back({.first_seq = record.events.front().seq,
                           .events = static_cast<std::uint32_t>(record.events.size()),
                           .record = pack_record(bytes),
                           .row = row,
                           .blobs = {}});
    return commit;
  }
};

/// Bytes handed to the kernel. (`write_bytes` counts whole folios of the page cache, many times too much.)
std::uint64_t written_bytes() {
  std::ifstream io("/proc/self/io");
  std::string name;
  for (std::uint64_t value; io >> name >> value;)
    if (name == "wchar:") return value;
  return 0;
}

/// Runs that are under way at once, each at another point of its life, and the batches they commit in.
class Fleet {
 public:
  explicit Fleet(std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      runs_.emplace_back(stamp_);
  }

  /// The next appends of `size` runs that nobody chose: in a round each has its turn once.
  std::vector<Commit> next_batch(std::size_t size) {
    std::vector<Commit> batch;
    while (batch.size() < size) {
      if (turn_ == 0) shuffle();
      Run& run = runs_[turn_];
      turn_ = (turn_ + 1) % runs_.size();
      if (run.appends == Run::appends_max) run = Run(stamp_);
      batch.push_back(run.next(record_bytes_));
      packed_bytes_ += batch.back().runs[0].record.size();
      inlined_ += batch.back().runs[0].record.size() <= inline_bytes_max;
      ++appends_;
    }
    return batch;
  }

  double appends() const { return static_cast<double>(appends_); }

  double record_bytes() const { return static_cast<double>(record_bytes_) / appends(); }

  double packed_bytes() const { return static_cast<double>(packed_bytes_) / appends(); }

  double inline_percent() const { return 100 * static_cast<double>(inlined_) / appends(); }

 private:
  static constexpr std::size_t inline_bytes_max = 1990;  // above, LMDB gives a value pages of its own

  void shuffle() {
    for (std::size_t i = runs_.size(); i > 1; --i)
      std::swap(runs_[i - 1], runs_[random_number() % i]);
  }

  Stamp stamp_{{1'700'000'000'000'000}, Entropy({1, 2, 3})};
  std::vector<Run> runs_;
  std::size_t turn_ = 0, appends_ = 0, record_bytes_ = 0, packed_bytes_ = 0, inlined_ = 0;
};

double cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

void measure(const StoreOptions& options, std::size_t runs, std::size_t batch_size, std::size_t rounds) {
  std::filesystem::remove_all(options.data_dir);
  auto journal = open_store(options);
  RATCHET_ENSURE(journal.has_value(), journal.error().text);
  Fleet fleet(runs);
  std::vector<double> times_ms;
  double total_ms = 0, total_cpu_ms = 0;
  const std::uint64_t written_before = written_bytes();
  for (std::size_t i = 0; i < rounds * runs / batch_size; ++i) {
    const std::vector<Commit> batch = fleet.next_batch(batch_size);
    const double cpu_before_ms = cpu_ms();
    const auto begin = SteadyClock::now();
    const auto outcomes = (*journal)->commit(batch);
    times_ms.push_back(std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count());
    total_ms += times_ms.back();
    total_cpu_ms += cpu_ms() - cpu_before_ms;
    RATCHET_ENSURE(outcomes.has_value(), outcomes.error().text);
    for (const auto& outcome : *outcomes)
      RATCHET_ENSURE(outcome.has_value(), outcome.error().text);
  }
  const double written = static_cast<double>(written_bytes() - written_before);
  const double at_rest = static_cast<double>((*journal)->health().bytes_used);
  const double runs_done = fleet.appends() / Run::appends_max;
  std::sort(times_ms.begin(), times_ms.end());
  std::printf("%6zu %6zu %10.0f %8.2f %8.2f %8.1f %10.1f %10.1f %9.0f %9.0f %6.0f%%\n",
              runs,
              batch_size,
              1000 * fleet.appends() / total_ms,
              times_ms[times_ms.size() / 2],
              times_ms[times_ms.size() * 99 / 100],
              1000 * total_cpu_ms / fleet.appends(),
              written / runs_done / 1000,
              at_rest / runs_done / 1000,
              fleet.record_bytes(),
              fleet.packed_bytes(),
              fleet.inline_percent());
}

}  // namespace

int run_bench(int argc, char** argv) {
  StoreOptions options;
  options.data_dir = argc > 1 ? argv[1] : "store-bench-data";
  const auto durability = parse_enum<Durability>(argc > 2 ? argv[2] : "fsync");
  if (!durability || argc > 3) {
    std::fprintf(stderr, "usage: bench_store [directory] [fsync|os]\n");
    return 2;
  }
  options.durability = *durability;
  std::printf(
      "  runs  batch  appends/s   p50 ms   p99 ms   cpu us kB written kB at rest  record B  packed B  "
      "inline\n");
  measure(options, 1, 1, 40 * Run::appends_max);
  measure(options, 64, 64, 10 * Run::appends_max);
  measure(options, 1000, 64, 3 * Run::appends_max);
  measure(options, 1000, 1000, 3 * Run::appends_max);
  measure(options, 10'000, 1000, Run::appends_max);
  std::filesystem::remove_all(options.data_dir);
  return 0;
}

}  // namespace ratchet

int main(int argc, char** argv) {
  return ratchet::run_bench(argc, argv);
}
