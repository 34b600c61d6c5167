// What the core holds back, what it takes up again, and in which order.

#include <doctest/doctest.h>

#include "core_fixture.hpp"

using namespace txbox;
using namespace txbox::test;
using namespace txbox::relay;
using namespace std::chrono_literals;
using store::HeldState;

using Ids = std::vector<std::int64_t>;

namespace {

/// The holds of the next mark.
std::vector<store::Hold> holds_of(CoreFixture& fixture) {
  fixture.advance(25ms);
  REQUIRE_FALSE(fixture.marks.empty());
  return fixture.marks.front().holds;
}

std::vector<TestRow> held_rows(std::int64_t first, std::int64_t last, HeldState state) {
  auto rows = rows_of_key(first, last);
  for (TestRow& row : rows) {
    row.held = state;
    row.held_lane = row.lane();
  }
  return rows;
}

}  // namespace

TEST_CASE("a row for later is listed as scheduled, without a lane, and its key does not wait") {
  CoreFixture fixture;
  auto rows = rows_of_key(1, 2);
  rows[0].deliver_at_ms = to_ms(fixture.wall) + 5'000;
  fixture.read(rows);
  CHECK(fixture.take_handed_ids() == Ids{2});
  const auto holds = holds_of(fixture);
  REQUIRE(holds.size() == 1);
  CHECK(holds[0].state == HeldState::scheduled);
  CHECK(holds[0].due_at_ms == rows[0].deliver_at_ms);
  CHECK_FALSE(holds[0].lane);
  fixture.marked();
  CHECK(fixture.take<command::ReleaseDue>().empty());
  fixture.advance(std::chrono::duration_cast<std::chrono::milliseconds>(fixture.core.next_tick() - fixture.steady));
  fixture.advance(5s);
  CHECK(fixture.take<command::ReleaseDue>().size() == 1);
  fixture.released(1);
  TestRow due = rows[0];
  due.held = HeldState::ready;
  fixture.read_ready({due});
  CHECK(fixture.take_handed_ids() == Ids{1});
}

TEST_CASE("a row whose time has come before it was read goes out at once") {
  CoreFixture fixture;
  fixture.read({{.id = 1, .deliver_at_ms = to_ms(fixture.wall)}});
  CHECK(fixture.take_handed_ids() == Ids{1});
}

TEST_CASE("what Kafka would refuse is refused before, in Kafka's words") {
  CoreFixture fixture;
  fixture.facts["small"] = usable_topic(1, 1000);
  TopicFacts compacted = usable_topic();
  compacted.compacted = true;
  fixture.facts["compacted"] = compacted;
  TestRow row{.id = 1};
  std::string word;
  SUBCASE("too large for its topic") {
    row.topic = "small";
    row.payload = std::string(1000, 'x');
    word = "MSG_SIZE_TOO_LARGE: ";
  }
  SUBCASE("no key on a compacted topic") {
    row.topic = "compacted";
    row.key.reset();
    word = "INVALID_RECORD: ";
  }
  SUBCASE("a nonce that is none") {
    row.nonce.clear();
    word = "INVALID_RECORD: ";
  }
  SUBCASE("a topic that is none") {
    row.topic = "no/topic";
    word = "INVALID_TOPIC_EXCEPTION: ";
  }
  fixture.read({row});
  CHECK(fixture.handed.empty());
  const auto holds = holds_of(fixture);
  REQUIRE(holds.size() == 1);
  CHECK(holds[0].state == HeldState::parked);
  CHECK(holds[0].last_error.starts_with(word));
  CHECK(fixture.marks.front().settled_through == 1);
}

TEST_CASE("the largest record that a topic takes is not refused") {
  CoreFixture fixture;
  fixture.facts["small"] = usable_topic(1, 1000);
  // 61 + 7 for batch and record, 71 for the relay's headers, 2 for the key.
  fixture.read({{.id = 1, .topic = "small", .payload = std::string(1000 - 61 - 7 - 71 - 2, 'x')}});
  CHECK(fixture.take_handed_ids() == Ids{1});
}

TEST_CASE("a topic that does not tell its limit refuses nothing before Kafka does, and a limit once told stays") {
  CoreFixture fixture;
  fixture.facts["orders"] = usable_topic(4, 0);
  auto rows = rows_of_key(1, 1);
  rows[0].payload = std::string(2'000'000, 'x');
  fixture.read(rows);
  CHECK(fixture.take_handed_ids() == Ids{1});
  fixture.ack({1});

  fixture.describe("orders", usable_topic(4, 3'000'000));
  fixture.describe("orders", usable_topic(4, 0));
  fixture.wake();
  auto larger = rows_of_key(2, 2);
  larger[0].payload = std::string(3'000'000, 'x');
  fixture.read(larger);
  CHECK(fixture.take_handed_ids().empty());
  CHECK(holds_of(fixture).at(0).last_error.find("3000000") != std::string::npos);
}

TEST_CASE("the scan stands before a topic that is not described yet, and goes on when it is") {
  CoreFixture fixture;
  fixture.answer_descriptions = false;
  fixture.read(rows_of_key(1, 2));
  const auto asked = fixture.take<command::Describe>();
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].topics == std::vector<std::string>{"orders"});
  CHECK_FALSE(fixture.reading);
  TopicFacts unreachable;
  unreachable.state = TopicFacts::State::unreachable;
  fixture.describe("orders", unreachable);
  CHECK_FALSE(fixture.reading);
  fixture.advance(200ms);
  CHECK(fixture.take<command::Describe>().size() == 1);
  fixture.describe("orders", usable_topic());
  fixture.read(rows_of_key(1, 2));
  CHECK(fixture.take_handed_ids() == Ids{1, 2});
}

TEST_CASE("rows of a missing topic wait, with one line for people, and are released when it is there") {
  CoreFixture fixture;
  fixture.facts["orders"] = missing_topic();
  fixture.read({{.id = 1}, {.id = 2}, {.id = 3, .topic = "other"}});
  CHECK(fixture.take_handed_ids() == Ids{3});
  const auto holds = holds_of(fixture);
  REQUIRE(holds.size() == 2);
  CHECK(holds[0].state == HeldState::waiting);
  CHECK(holds[0].last_error.starts_with("UNKNOWN_TOPIC_OR_PART: "));
  CHECK(fixture.words.size() == 1);
  CHECK(fixture.said("create it: the relay never creates a topic"));
  fixture.marked();
  fixture.facts["orders"] = usable_topic();
  fixture.advance(2s);
  CHECK(fixture.said("usable again"));
  CHECK(fixture.take<command::ReleaseTopic>().size() == 1);
  fixture.released(2);
  fixture.read_ready(held_rows(1, 2, HeldState::ready));
  CHECK(fixture.take_handed_ids() == Ids{1, 2});
}

TEST_CASE("a topic that comes back while a hold is under way releases that row too") {
  CoreFixture fixture;
  fixture.facts["orders"] = missing_topic();
  fixture.read({{.id = 1}});
  CHECK(holds_of(fixture).size() == 1);
  fixture.describe("orders", usable_topic());
  CHECK(fixture.take<command::ReleaseTopic>().size() == 1);
  fixture.released(0);
  fixture.marked();
  CHECK(fixture.take<command::ReleaseTopic>().size() == 1);
}

TEST_CASE("a refusal for the topic's sake asks about the topic and parks nothing") {
  CoreFixture fixture;
  fixture.read(rows_of_key(1, 1));
  fixture.answer_descriptions = false;
  fixture.report(1, ReportKind::topic_refused, 29);
  CHECK(fixture.take<command::Describe>().size() == 1);
  fixture.producer_ready();
  fixture.read_ready({});
  fixture.read(rows_of_key(1, 1));
  CHECK_FALSE(fixture.reading);
  TopicFacts denied;
  denied.state = TopicFacts::State::denied;
  denied.reason = test_error_text(29);
  fixture.describe("orders", denied);
  fixture.read(rows_of_key(1, 1));
  const auto holds = holds_of(fixture);
  REQUIRE(holds.size() == 1);
  CHECK(holds[0].state == HeldState::waiting);
  CHECK(holds[0].attempts == 0);
}

TEST_CASE("a topic that may be described and not written to pauses after its second refusal") {
  CoreFixture fixture;
  const auto rows = rows_of_key(1, 1);
  for (int round = 0; round < 2; ++round) {
    fixture.read(rows);
    fixture.report(1, ReportKind::topic_refused, 29);
    fixture.producer_ready();
    fixture.read_ready({});
  }
  CHECK(fixture.said("is paused"));
  CHECK_FALSE(fixture.said("create it"));
  fixture.read(rows);
  const auto holds = holds_of(fixture);
  REQUIRE(holds.size() == 1);
  CHECK(holds[0].state == HeldState::waiting);
  CHECK(holds[0].last_error.starts_with("TOPIC_AUTHORIZATION_FAILED: "));
  fixture.marked();
  fixture.advance(2s);
  CHECK(fixture.take<command::ReleaseTopic>().size() == 1);
}

TEST_CASE("a row for a partition that is not there waits for it") {
  CoreFixture fixture;
  TestRow row{.id = 1, .partition = 7};
  fixture.read({row});
  const auto holds = holds_of(fixture);
  REQUIRE(holds.size() == 1);
  CHECK(holds[0].state == HeldState::waiting);
  CHECK(holds[0].last_error.starts_with("_UNKNOWN_PARTITION: "));
  fixture.marked();
  fixture.describe("orders", usable_topic(8));
  CHECK(fixture.take<command::ReleaseTopic>().size() == 1);
}

TEST_CASE("rows whose partition stays missing are released once, and do not keep the rows behind them waiting") {
  CoreFixture fixture;
  std::vector<TestRow> rows;
  for (std::int64_t id = 1; id <= 3; ++id) rows.push_back({.id = id, .key = std::nullopt, .partition = 7});
  fixture.read(rows);
  CHECK(holds_of(fixture).size() == 3);
  fixture.marked();
  fixture.describe("orders", usable_topic(5));
  auto releases = fixture.take<command::ReleaseTopic>();
  REQUIRE(releases.size() == 1);
  CHECK(releases[0].after == 0);
  // Two of them in this step; they are decided as before, and wait again before the release goes on.
  fixture.released(2, true, 2);
  releases = fixture.take<command::ReleaseTopic>();
  REQUIRE(releases.size() == 1);
  CHECK(releases[0].after == 2);
  for (TestRow& row : rows) row.held = HeldState::ready;
  fixture.read_ready({rows[0], rows[1]});
  CHECK(holds_of(fixture).size() == 2);
  fixture.marked();
  fixture.released(1, false, 3);
  fixture.read_ready({rows[2]});
  CHECK(holds_of(fixture).size() == 1);
  fixture.marked();
  CHECK(fixture.take<command::ReleaseTopic>().empty());
  CHECK(fixture.take_handed_ids().empty());
}

TEST_CASE("however many rows a returning topic left waiting, one walk releases them") {
  CoreFixture fixture;
  fixture.facts["orders"] = missing_topic();
  fixture.read({{.id = 1}, {.id = 2}, {.id = 3}});
  CHECK(holds_of(fixture).size() == 3);
  fixture.describe("orders", usable_topic());
  CHECK(fixture.take<command::ReleaseTopic>().size() == 1);
  // All three were marked behind the release: it begins once more, and does not also go on from where it was.
  fixture.marked();
  fixture.released(2, true, 2);
  const auto releases = fixture.take<command::ReleaseTopic>();
  REQUIRE(releases.size() == 1);
  CHECK(releases[0].after == 0);
  fixture.released(0);
  CHECK(fixture.take<command::ReleaseTopic>().empty());
}

TEST_CASE("a larger partition count is adopted only when nothing of the topic is in flight") {
  CoreFixture fixture;
  fixture.read(rows_of_key(1, 1));
  fixture.describe("orders", usable_topic(40));
  fixture.wake();
  fixture.handed.clear();
  fixture.read(rows_of_key(2, 2));
  CHECK(fixture.handed.empty());
  CHECK_FALSE(fixture.reading);
  fixture.ack({1});
  fixture.read(rows_of_key(2, 2));
  REQUIRE(fixture.handed.size() == 1);
  CHECK(fixture.handed[0].partition == test_partitioner("A1", 40));
  CHECK(fixture.said("40 partitions, had 4"));
}

TEST_CASE("an acknowledged offset that goes back stops the topic and says what to do") {
  CoreFixture fixture;
  fixture.next_offset = 100;
  fixture.read(rows_of_key(1, 2));
  fixture.ack({1});
  fixture.next_offset = 0;
  fixture.ack({2});
  CHECK(fixture.said("start the relay again"));
  fixture.wake();
  fixture.handed.clear();
  fixture.read({{.id = 3}, {.id = 4, .topic = "other"}});
  CHECK(fixture.take_handed_ids() == Ids{4});
}

TEST_CASE("a held row that the scan meets closes its lane, a skipped one does not") {
  CoreFixture fixture;
  auto rows = rows_of_key(1, 2, "A1");
  const auto others = rows_of_key(3, 4, "B2");
  rows.insert(rows.end(), others.begin(), others.end());
  rows[0].held = HeldState::parked;
  rows[0].held_lane = rows[0].lane();
  rows[2].held = HeldState::skipped;
  rows[2].held_lane = rows[2].lane();
  fixture.read(rows);
  CHECK(fixture.take_handed_ids() == Ids{4});
  const auto holds = holds_of(fixture);
  REQUIRE(holds.size() == 1);
  CHECK(holds[0].id == 2);
  CHECK(holds[0].state == HeldState::blocked);
}

TEST_CASE("a lane that is held at the start stays closed until a mark says that it is clear") {
  CoreFixture fixture({}, false);
  const TestRow row{.id = 6};
  event::DatabaseOpened opened;
  opened.progress = {5, 0, 6};
  opened.held_lanes = {{row.lane(), 1, false}};
  fixture.step(opened);
  CHECK(fixture.take<command::ReleaseLane>().size() == 1);
  fixture.released(0);
  fixture.read_ready({});
  fixture.read({row});
  CHECK(fixture.handed.empty());
  CHECK(holds_of(fixture).size() == 1);
  fixture.marked();

  // A person retries row 5, the head.
  fixture.advance(1s);
  fixture.wake(true);
  fixture.read_ready(held_rows(5, 5, HeldState::ready));
  CHECK(fixture.take_handed_ids() == Ids{5});
  fixture.ack({5});
  fixture.advance(25ms);
  REQUIRE(fixture.marks.size() == 1);
  CHECK(fixture.marks.front().lanes == std::vector<store::Lane>{row.lane()});
  fixture.marked();  // Row 6 is still held: not clear, so it is released.
  CHECK(fixture.take<command::ReleaseLane>().size() == 1);
  fixture.released(1);
  fixture.read_ready(held_rows(6, 6, HeldState::ready));
  CHECK(fixture.take_handed_ids() == Ids{6});
  fixture.ack({6});
  fixture.advance(25ms);
  fixture.marked({row.lane()});
  while (!fixture.reading) fixture.advance(100ms);
  fixture.read(rows_of_key(7, 7));
  CHECK(fixture.take_handed_ids() == Ids{7});
}

TEST_CASE("a ready row waits for an earlier row of its lane that is in flight") {
  CoreFixture fixture;
  auto rows = rows_of_key(1, 2);
  rows[1].held = HeldState::ready;
  rows[1].held_lane = rows[1].lane();
  fixture.read(rows);
  CHECK(fixture.take_handed_ids() == Ids{1});
  fixture.read_ready({rows[1]});
  CHECK(fixture.take_handed_ids().empty());
  fixture.ack({1});
  fixture.advance(25ms);
  fixture.marked();
  fixture.read_ready({rows[1]});
  CHECK(fixture.take_handed_ids() == Ids{2});
}

TEST_CASE("a ready row that the scan has not passed is left alone") {
  CoreFixture fixture;
  fixture.step(event::Woken{0, true});
  fixture.read({});
  fixture.advance(300ms);
  fixture.read_ready(held_rows(9, 9, HeldState::ready));
  CHECK(fixture.handed.empty());
}

TEST_CASE("a ready row that was sent meanwhile is not sent again by an older reading") {
  CoreFixture fixture;
  const auto ready = held_rows(1, 1, HeldState::ready);
  fixture.read(ready);
  fixture.read_ready(ready);
  CHECK(fixture.take_handed_ids() == Ids{1});
  fixture.ack({1});
  fixture.advance(25ms);
  fixture.step(event::Woken{0, true});
  fixture.advance(300ms);
  if (fixture.reading) fixture.read({});
  REQUIRE(fixture.reading_ready);
  fixture.marked();
  fixture.read_ready(ready);
  CHECK(fixture.take_handed_ids().empty());
}

TEST_CASE("a row of the scan that was sent meanwhile is not sent again by an older reading of ready rows") {
  CoreFixture fixture;
  fixture.read(rows_of_key(1, 1));
  fixture.handed.clear();
  fixture.step(event::Woken{0, true});
  fixture.advance(300ms);
  if (fixture.reading) fixture.read({});
  REQUIRE(fixture.reading_ready);
  // A person skipped and retried it while it was in flight; then its receipt came.
  TestRow retried{.id = 1};
  retried.held = HeldState::ready;
  fixture.ack({1});
  fixture.advance(25ms);
  fixture.marked();
  fixture.read_ready({retried});
  CHECK(fixture.handed.empty());
}

TEST_CASE("a mark that looked before the scan met a held row does not open its lane") {
  CoreFixture fixture;
  const auto head = held_rows(1, 1, HeldState::ready);
  fixture.read(head);
  fixture.read_ready(head);
  fixture.ack({1});
  fixture.advance(25ms);
  REQUIRE(fixture.marks.size() == 1);
  fixture.wake();
  fixture.read(held_rows(2, 2, HeldState::parked));
  fixture.marked({head[0].lane()});
  fixture.wake();
  fixture.handed.clear();
  fixture.read(rows_of_key(3, 3));
  CHECK(fixture.handed.empty());
}

TEST_CASE("when a person takes the only held row of a lane away, the lane opens by a reload") {
  CoreFixture fixture;
  auto rows = held_rows(1, 1, HeldState::parked);
  fixture.read(rows);
  fixture.advance(25ms);
  fixture.marked();
  fixture.wake(true);
  CHECK(fixture.take<command::Reload>().size() == 1);
  event::DatabaseOpened reloaded;
  reloaded.progress = {1, 0, 1};
  fixture.step(reloaded);
  if (fixture.reading_ready) fixture.read_ready({});
  fixture.read(rows_of_key(2, 2));
  CHECK(fixture.take_handed_ids() == Ids{2});
}

TEST_CASE("a reload that took long leaves the publishing nine tenths of the time") {
  CoreFixture fixture;
  const auto rows = held_rows(1, 1, HeldState::parked);
  fixture.read(rows);
  event::DatabaseOpened reloaded;
  reloaded.progress = {1, 0, 1};
  reloaded.held_lanes = {{rows[0].lane(), 1, true}};
  fixture.wake(true);
  REQUIRE(fixture.take<command::Reload>().size() == 1);
  fixture.steady += 1s;
  fixture.step(reloaded);
  fixture.wake(true);
  fixture.advance(8s);
  CHECK(fixture.take<command::Reload>().empty());
  fixture.advance(1s);
  CHECK(fixture.take<command::Reload>().size() == 1);
}

TEST_CASE("a reload that looked before the scan met the held row does not open its lane") {
  CoreFixture fixture;
  auto first = held_rows(1, 1, HeldState::parked);
  fixture.read(first);
  fixture.wake(true);
  CHECK(fixture.take<command::Reload>().size() == 1);
  if (fixture.reading_ready) fixture.read_ready({});
  TestRow parked{.id = 2, .key = "B2"};
  parked.held = HeldState::parked;
  parked.held_lane = parked.lane();
  fixture.read({parked});
  event::DatabaseOpened before;
  before.progress = {0, 0, 1};
  before.held_lanes = {{first[0].lane(), 1, true}};
  fixture.step(before);
  fixture.advance(300ms);
  const auto again = fixture.take<command::Reload>();
  REQUIRE(again.size() == 1);
  CHECK_FALSE(again[0].only_after_deeds);  // Nobody did anything: it would never be looked at.
  fixture.wake();
  if (fixture.reading_ready) fixture.read_ready({});
  fixture.read({{.id = 3, .key = "B2"}});
  CHECK(fixture.handed.empty());
}
