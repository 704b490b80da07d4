// Runs below others over the API: what is streamed, listed and asked at the run above them.

#include <future>
#include <thread>

#include <fmt/format.h>

#include "runtime/hash.hpp"
#include "runtime/json/dom.hpp"
#include "tests/fakes/forged_journal.hpp"
#include "tests/http/api_fixture.hpp"
#include "tests/http/event_reader.hpp"

namespace ratchet {
namespace {

using testing::ApiTest;
using testing::asked;
using testing::RawClient;
using testing::Reader;
using testing::replied;

class SubagentsTest : public ApiTest {
 protected:
  void SetUp() override {
    register_agent();
    root = start_run();
  }

  std::string path(std::string_view rest = "") { return path_of(root, rest); }

  static std::string path_of(const RunId& run, std::string_view rest = "") {
    return fmt::format("/v1/runs/{}{}", to_string(run), rest);
  }

  std::string events(std::string_view query = "?children=true") {
    return fmt::format("/v1/runs/{}/events{}", to_string(root), query);
  }

  static MessageReceived message(std::string text) {
    MessageReceived said;
    said.content = text_content(std::move(text));
    said.from = "test";
    return said;
  }

  /// "1 2 a1 b1": ids of the root's events, and name and seq of each of a run below, up to the end.
  std::string told(Reader& reader) {
    std::string all;
    while (const auto next = short_form(reader))
      all += (all.empty() ? "" : " ") + *next;
    EXPECT_FALSE(reader.broken());
    return all;
  }

  std::optional<std::string> short_form(Reader& reader) {
    const auto frame = reader.next();
    if (!frame) return std::nullopt;
    const auto data = parse_json(frame->data);
    if (!data) {
      ADD_FAILURE() << frame->data;
      return std::nullopt;
    }
    const auto& event = data->get_object();
    const auto* run = event.if_contains("run_id");
    EXPECT_EQ(frame->id.empty(), run != nullptr || frame->event == "model.delta") << frame->data;
    const auto* seq = event.if_contains("seq");
    std::string name;
    if (run) name = names.at(std::string(run->as_string()));
    if (!seq) return name + "~" + std::string(event.at("text").as_string());
    for (const auto& error : description().check(*data, "Event"))
      ADD_FAILURE() << error;
    return name + std::to_string(seq->to_number<std::uint64_t>());
  }

  RunId below(const RunId& parent, const std::string& name) {
    const RunId child = node.start_below(parent);
    names[to_string(child)] = name;
    return child;
  }

  RunId root;
  std::map<std::string, std::string> names;
};

// --- streams
// --------------------------------------------------------------------------------------------------

TEST_F(SubagentsTest, AFinishedTreeIsToldWholeEachRunBeforeItsParentHearsOfItsEnd) {
  const RunId a = below(root, "a");           // root 2
  const RunId b = below(a, "b");              // a 2
  node.happen(b, {message("x")});             // b 2
  node.happen(root, {message("meanwhile")});  // root 3
  node.finish_below(a, b);                    // b 3, a 3
  node.finish_below(root, a);                 // a 4, root 4
  node.finish(root);                          // root 5
  Reader reader(port(), events());
  const auto all = told(reader);
  EXPECT_EQ(all, "1 2 3 a1 a2 b1 b2 b3 a3 a4 4 5");
  feed.wait_for_subscribers(root, 0);
  feed.wait_for_subscribers(a, 0);
  feed.wait_for_subscribers(b, 0);
}

TEST_F(SubagentsTest, ALiveTreeIsToldAsItGoes) {
  Reader reader(port(), events());
  EXPECT_EQ(short_form(reader), "1");
  feed.wait_for_subscribers(root, 1);
  const RunId a = below(root, "a");
  EXPECT_EQ(short_form(reader), "2");
  EXPECT_EQ(short_form(reader), "a1");
  feed.wait_for_subscribers(a, 1);
  node.happen(root, {message("x")});
  EXPECT_EQ(short_form(reader), "3");
  node.happen(a, {asked()});
  EXPECT_EQ(short_form(reader), "a2");
  feed.preview(a, 1, 1, 0, "Hel");
  const auto delta = reader.next();
  EXPECT_EQ(delta->event, "model.delta");
  EXPECT_EQ(delta->data,
            fmt::format(R"({{"run_id":"{}","step":1,"attempt":1,"index":0,"text":"Hel"}})", to_string(a)));
  feed.end_preview(a);
  node.finish_below(root, a);
  EXPECT_EQ(short_form(reader), "a3");
  EXPECT_EQ(short_form(reader), "4");
  node.finish(root);
  EXPECT_EQ(told(reader), "5");
  feed.wait_for_subscribers(a, 0);
}

TEST_F(SubagentsTest, NothingIsMissedOrRepeatedWheneverAClientComes) {
  // Each reader meets the tree at another moment; what it is told is the same.
  std::vector<std::unique_ptr<Reader>> readers;
  std::vector<RunId> children;
  for (int i = 0; i < 10; ++i) {
    const auto name = std::string(1, static_cast<char>('a' + i));
    std::thread going([&] {
      children.push_back(below(root, name));
      node.happen(children.back(), {message("1"), message("2")});
      if (i > 0) node.finish_below(root, children[i - 1]);
    });
    readers.push_back(std::make_unique<Reader>(port(), events()));
    going.join();
  }
  node.finish_below(root, children.back());
  node.finish(root);
  for (auto& reader : readers) {
    std::map<char, std::string> by_run;
    while (const auto next = short_form(*reader)) {
      const bool own = next->front() >= '0' && next->front() <= '9';
      by_run[own ? 'r' : next->front()] += (own ? *next : next->substr(1)) + " ";
    }
    EXPECT_FALSE(reader->broken());
    std::string own;
    for (int seq = 1; seq <= 22; ++seq)
      own += std::to_string(seq) + " ";
    EXPECT_EQ(by_run['r'], own);
    for (char name = 'a'; name <= 'j'; ++name)
      EXPECT_EQ(by_run[name], "1 2 3 4 ") << name;
  }
}

TEST_F(SubagentsTest, WhoComesBackIsShownTheRunsOfWhichItHasNotSeenTheEnd) {
  const RunId a = below(root, "a"), b = below(root, "b"), c = below(root, "c");  // root 2, 3, 4
  node.finish_below(root, a);                                                    // root 5
  node.finish_below(root, b);                                                    // root 6
  Reader live(port(), events("?children=true&after=5"));
  // In either order: they are runs of their own.
  std::set<std::string> first;
  for (int i = 0; i < 4; ++i)
    first.insert(short_form(live).value_or("end"));
  EXPECT_EQ(first, (std::set<std::string>{"b1", "b2", "6", "c1"})) << "all of b, whose end is news, and c";
  node.finish_below(root, c);
  node.finish(root);
  EXPECT_EQ(told(live), "c2 7 8");
  Reader late(port(), events(), {{"Last-Event-ID", "6"}});
  EXPECT_EQ(told(late), "c1 c2 7 8") << "it was over before the client came back";
  EXPECT_EQ(Reader(port(), events("?children=true&after=8")).head().status, 204);
}

TEST_F(SubagentsTest, TheEndOfARunWaitsUntilAllOfItIsShown) {
  Reader reader(port(), events());
  EXPECT_EQ(short_form(reader), "1");
  feed.wait_for_subscribers(root, 1);
  const RunId a = below(root, "a");
  EXPECT_EQ(short_form(reader), "2");
  EXPECT_EQ(short_form(reader), "a1");
  feed.wait_for_subscribers(a, 1);
  // The parent's word comes first, as it can between two commits and their publication.
  const auto last = node.commit_only(a, {RunFinished{}});
  SubagentFinished finished;
  finished.child_run_id = a;
  node.happen(root, {finished, message("after it")});
  node.happen(root, {message("and more")});
  feed.publish(a, last);
  for (const char* next : {"a2", "3", "4", "5"})
    EXPECT_EQ(short_form(reader), next);
}

TEST_F(SubagentsTest, TypesAreFilteredAlikeInAllRuns) {
  const RunId a = below(root, "a");
  node.happen(a, {message("x"), asked()});
  node.finish_below(root, a);
  Reader reader(port(), events("?children=true&types=message.received,run.finished"));
  EXPECT_EQ(short_form(reader), "a2");
  EXPECT_EQ(short_form(reader), "a4");
  feed.wait_for_subscribers(root, 1);
  const RunId b = below(root, "b");
  feed.wait_for_subscribers(b, 1);
  feed.preview(b, 1, 1, 0, "not wanted");
  node.happen(b, {asked(), message("y")});
  EXPECT_EQ(short_form(reader), "b3");
  node.finish_below(root, b);
  node.finish(root);
  EXPECT_EQ(told(reader), "b4 6") << "the events between are looked at and not shown";
}

TEST_F(SubagentsTest, ApprovalsOfRunsBelowAreStreamedWithoutBeingAskedFor) {
  const RunId a = below(root, "a");
  const RunId b = below(a, "b");
  Reader reader(port(), events(""));
  EXPECT_EQ(short_form(reader), "1");
  EXPECT_EQ(short_form(reader), "2");
  feed.wait_for_subscribers(b, 1);
  ask_person(b, 7);
  const auto frame = reader.next();
  EXPECT_EQ(frame->event, "approval.required");
  EXPECT_EQ(frame->id, "");
  EXPECT_NE(frame->data.find(to_string(b)), std::string::npos);
  node.happen(b, {ApprovalReminded{approval_id(7), "call_1_1"}});
  EXPECT_EQ(reader.next()->event, "approval.reminded");
  node.finish_below(a, b);
  node.finish_below(root, a);
  node.finish(root);
  EXPECT_EQ(told(reader), "3 4") << "and nothing else of theirs";
  // Told again from the beginning: the approval, and nothing of what was not asked.
  Reader again(port(), events(""));
  EXPECT_EQ(told(again), "1 2 b5 b7 3 4");
  Reader none(port(), events("?types=run.finished"));
  EXPECT_EQ(told(none), "4") << "filtered like any other";
}

TEST_F(SubagentsTest, AReaderWhoLeftIsForgottenByAllRuns) {
  const RunId a = below(root, "a"), b = below(a, "b");
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 10; ++i)
    readers.push_back(std::make_unique<Reader>(port(), events()));
  feed.wait_for_subscribers(b, 10);
  for (auto& reader : readers)
    reader->leave();
  for (const RunId& run : {root, a, b})
    feed.wait_for_subscribers(run, 0);
}

TEST_F(SubagentsTest, ADrainEndsTheStreamOfATree) {
  const RunId a = below(root, "a");
  Reader reader(port(), events());
  for (const char* next : {"1", "2", "a1"})
    EXPECT_EQ(short_form(reader), next);
  feed.wait_for_subscribers(a, 1);
  service->drain();
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_EQ(reader.retry(), "2000");
  feed.wait_for_subscribers(a, 0);
  feed.wait_for_subscribers(root, 0);
}

TEST_F(SubagentsTest, AStalledReaderIsDisconnectedWhicheverRunIsLoud) {
  const RunId a = below(root, "a");
  RawClient::set_receive_buffer(4'096);
  Reader reader(port(), events());
  RawClient::set_receive_buffer(0);
  for (const char* next : {"1", "2", "a1"})
    EXPECT_EQ(short_form(reader), next);
  feed.wait_for_subscribers(a, 1);
  const std::string large(15'000, 'x');
  for (int i = 0; i < 200; ++i)
    node.happen(i % 2 ? a : root, {message(large)});
  std::uint64_t count = 3;
  while (const auto frame = reader.next()) {
    EXPECT_TRUE(parse_json(frame->data)) << "whole";
    ++count;
  }
  EXPECT_FALSE(reader.broken()) << "closed after a whole event";
  EXPECT_LT(count, 203u) << "it was disconnected";
  feed.wait_for_subscribers(a, 0);
  feed.wait_for_subscribers(root, 0);
}

TEST_F(SubagentsTest, AQueueThatOverflowsWhileAnotherRunIsWaitedForLosesNothing) {
  Reader reader(port(), events());
  EXPECT_EQ(short_form(reader), "1");
  feed.wait_for_subscribers(root, 1);
  const RunId a = below(root, "a");
  const RunId b = below(root, "b");
  std::set<std::string> begun;
  for (int i = 0; i < 4; ++i)
    begun.insert(short_form(reader).value_or("end"));
  EXPECT_EQ(begun, (std::set<std::string>{"2", "a1", "3", "b1"}));
  feed.wait_for_subscribers(a, 1);
  feed.wait_for_subscribers(b, 1);
  const auto last = node.commit_only(a, {RunFinished{}});
  SubagentFinished finished;
  finished.child_run_id = a;
  node.happen(root, {finished});
  // When this is there, the root has been asked and waits.
  node.happen(b, {message("now")});
  EXPECT_EQ(short_form(reader), "b2");
  const std::string large(15'000, 'x');
  for (int i = 0; i < 40; ++i)
    node.happen(root, {message(large)});
  feed.publish(a, last);
  EXPECT_EQ(short_form(reader), "a2");
  for (int seq = 4; seq <= 44; ++seq)
    ASSERT_EQ(short_form(reader), std::to_string(seq));
}

class DamagedChildTest : public SubagentsTest {
 protected:
  DamagedChildTest() : forged(journal) {}

  void SetUp() override {
    service = std::make_unique<Service>(parts(forged), options);
    serve_on(service->start().value());
    SubagentsTest::SetUp();
  }

  ForgedJournal forged;
};

TEST_F(DamagedChildTest, ARunThatCannotBeReadHidesNoOther) {
  const RunId a = below(root, "a"), b = below(root, "b");
  node.finish_below(root, a);
  node.finish_below(root, b);
  node.finish(root);
  forged.unreadable = a;
  Reader reader(port(), events());
  EXPECT_EQ(told(reader), "1 2 3 b1 b2 4 5 6");
  const auto page = get(events());
  EXPECT_EQ(page.text("cut/0"), to_string(a));
  EXPECT_EQ(page.json.at("items").as_array().size(), 8u);
}

// --- pages of JSON
// --------------------------------------------------------------------------------------------------

TEST_F(SubagentsTest, PagesHoldARunBelowBeforeItsEndAndThoseThatGoOnAtTheEnd) {
  const RunId a = below(root, "a");
  below(root, "b");                   // root 2, 3
  const RunId c = below(a, "c");      // a 2
  node.finish_below(a, c);            // c 2, a 3
  node.finish_below(root, a);         // a 4, root 4
  node.happen(root, {message("x")});  // root 5
  const auto told_by = [&](const std::string& query) {
    const auto page = get(events(query));
    std::string all;
    for (const auto& item : page.json.at("items").as_array()) {
      const auto* run = item.as_object().if_contains("run_id");
      all += (all.empty() ? "" : " ") + (run ? names.at(std::string(run->as_string())) : "") +
             std::to_string(item.at("seq").to_number<std::uint64_t>());
    }
    return all + " | " + page.text("next_after") + " of " + page.text("last_seq");
  };
  EXPECT_EQ(told_by("?children=true"), "1 2 3 a1 a2 c1 c2 a3 a4 4 5 b1 | 5 of 5");
  EXPECT_EQ(told_by("?children=true&limit=3"), "1 2 3 | 3 of 5");
  EXPECT_EQ(told_by("?children=true&limit=1&after=3"), "a1 a2 c1 c2 a3 a4 4 | 4 of 5");
  EXPECT_EQ(told_by("?children=true&after=4"), "5 b1 | 5 of 5");
  EXPECT_EQ(told_by("?children=true&after=5"), "b1 | 5 of 5") << "again, as long as it goes on";
  EXPECT_EQ(told_by("?children=true&types=run.finished"), "c2 a4 | 5 of 5");
  const auto plain = get(events(""));
  EXPECT_EQ(plain.json.at("items").as_array().size(), 5u) << "its own only";
  EXPECT_EQ(plain.text("next_after"), "(absent)");
}

TEST_F(SubagentsTest, APageHasRoomForSoManyEventsOfRunsBelowAndSaysWhatIsCut) {
  const RunId a = below(root, "a"), b = below(root, "b");
  node.happen(a, std::vector<Payload>(limits::events_page_max, message("x")));
  node.finish_below(root, a);
  node.finish_below(root, b);
  const auto page = get(events());
  EXPECT_EQ(page.text("next_after"), "5") << "the run's own go on";
  EXPECT_EQ(page.json.at("cut").as_array().size(), 2u);
  EXPECT_EQ(page.text("cut/0"), to_string(a));
  EXPECT_EQ(page.text("cut/1"), to_string(b));
}

// --- approvals, rows, tokens
// ---------------------------------------------------------------------------------------------------

TEST_F(SubagentsTest, ApprovalsOfRunsBelowAreListedAndDecidedAtTheRunsAbove) {
  const RunId a = below(root, "a"), b = below(a, "b");
  const RunId other = start_run();
  ask_person(b, 7, R"({"amount":7})");
  for (const RunId& run : {root, a, b}) {
    const auto list = get("/v1/approvals?status=pending&run_id=" + to_string(run));
    ASSERT_EQ(list.json.at("items").as_array().size(), 1u);
    EXPECT_EQ(list.text("items/0/run_id"), to_string(b));
    EXPECT_EQ(list.text("items/0/root_run_id"), to_string(root));
    const auto shown = get(path_of(run));
    EXPECT_EQ(shown.text("pending_approvals/0/approval_id"), to_string(approval_id(7)));
    EXPECT_EQ(shown.text("pending_approvals/0/run_id"), to_string(b));
    EXPECT_EQ(shown.text("pending_approvals/0/args"), R"({"amount":7})");
    EXPECT_EQ(get(path_of(run, "/approvals/" + to_string(approval_id(7)))).text("run_id"), to_string(b));
  }
  EXPECT_EQ(get("/v1/approvals?run_id=" + to_string(other)).text("items"), "[]");
  EXPECT_EQ(get(path_of(other, "/approvals/" + to_string(approval_id(7)))).code(), "unknown_approval");
  EXPECT_EQ(
      post(path_of(other, "/approvals/" + to_string(approval_id(7))), R"({"decision":"approve"})").code(),
      "unknown_approval");
  const auto runs = get("/v1/runs?limit=10");
  EXPECT_EQ(runs.text("items/0/pending_approvals"), "[]") << "of the other run";
  EXPECT_EQ(runs.text("items/3/pending_approvals/0/run_id"), to_string(b)) << "of the root";

  const auto decided = post(path("/approvals/" + to_string(approval_id(7))), R"({"decision":"approve"})");
  EXPECT_EQ(decided.status, 200) << decided.raw.body;
  ASSERT_EQ(node.decisions.size(), 1u);
  EXPECT_EQ(node.decisions[0].run_id, b);
  EXPECT_EQ(node.decisions[0].approval_id, approval_id(7));
}

TEST_F(SubagentsTest, ARunShowsWhatAllBelowItUsedAndItsUsageIsItsOwn) {
  node.happen(root, {asked(), replied("")});
  const RunId a = below(root, "a");
  node.happen(a, {asked(), replied("")});
  node.finish_below(root, a, {4, 1'000, Usd{100'000'000}});
  const auto shown = get(path());
  EXPECT_EQ(shown.text("budgets_used/steps"), "5");
  EXPECT_EQ(shown.text("budgets_used/tokens"), "1107");
  EXPECT_EQ(shown.text("budgets_used/usd"), "0.123100");
  EXPECT_EQ(shown.text("usage/input_tokens"), "100");
  EXPECT_EQ(shown.text("usage/cost_usd"), "0.023100");
  EXPECT_EQ(get("/v1/usage?group_by=team").text("items/0/cost_usd"), "0.046200") << "each run once";
  const auto child = get(path_of(a));
  EXPECT_EQ(child.text("parent_run_id"), to_string(root));
  EXPECT_EQ(child.text("root_run_id"), to_string(root));
  EXPECT_EQ(child.text("depth"), "1");
  const auto children = get("/v1/runs?parent_run_id=" + to_string(root));
  ASSERT_EQ(children.json.at("items").as_array().size(), 1u);
  EXPECT_EQ(children.text("items/0/run_id"), to_string(a));
}

TEST_F(SubagentsTest, AFreshTokenReachesEveryRunOfTheTreeThatGoesOn) {
  const RunId a = below(root, "a"), b = below(root, "b"), c = below(b, "c");
  node.finish_below(root, a);
  const auto reply = post(path_of(b, "/user_token"), R"({"user_token":"dev:alice:write"})");
  EXPECT_EQ(reply.status, 202) << reply.raw.body;
  ASSERT_EQ(node.tokens.size(), 3u);
  std::set<RunId> reached;
  for (const auto& given : node.tokens) {
    reached.insert(given.run_id);
    EXPECT_EQ(given.scopes, std::vector<std::string>{"write"});
  }
  EXPECT_EQ(reached, (std::set<RunId>{root, b, c}));
  EXPECT_EQ(node.tokens.back().run_id, b) << "whose event is the answer";
  EXPECT_EQ(post(path_of(a, "/user_token"), R"({"user_token":"dev:alice:write"})").code(), "run_finished");
  EXPECT_EQ(node.tokens.size(), 3u);
}

}  // namespace
}  // namespace ratchet
