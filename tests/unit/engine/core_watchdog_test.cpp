// Rows that kill their connection: who is suspected, who is parked, and what an outage is not mistaken for.

#include <doctest/doctest.h>

#include "core_fixture.hpp"

using namespace txbox;
using namespace txbox::test;
using namespace txbox::relay;
using namespace std::chrono_literals;

using Ids = std::vector<std::int64_t>;

namespace {

constexpr int kMsgSizeTooLarge = 10;

void ends(CoreFixture& fixture, ProducerKind producer, int count, bool came_up = true) {
  for (int number = 0; number < count; ++number) {
    fixture.steady += 100ms;
    fixture.step(event::ConnectionEnded{producer, "broker-1:9092", came_up});
  }
}

/// Row 1 of key A1 is on its way alone, on the probation producer; row 3 of B2 flows on the main one.
void try_alone(CoreFixture& fixture, const std::vector<TestRow>& rows) {
  fixture.read(rows);
  ends(fixture, ProducerKind::main, 3);
  fixture.producer_ready();
  fixture.read_ready({});
  fixture.handed.clear();
  fixture.read(rows);
}

std::vector<TestRow> two_keys() {
  auto rows = rows_of_key(1, 2);
  rows.push_back({.id = 3, .key = "B2"});
  return rows;
}

/// Answers the marks and lets the next ones come.
void mark_all(CoreFixture& fixture) {
  fixture.advance(25ms);
  while (!fixture.marks.empty()) fixture.marked();
  fixture.advance(25ms);
  while (!fixture.marks.empty()) fixture.marked();
}

const store::Hold* hold_of(const CoreFixture& fixture, std::int64_t row) {
  for (const command::Mark& mark : fixture.all_marks) {
    for (const store::Hold& hold : mark.holds) {
      if (hold.id == row) return &hold;
    }
  }
  return nullptr;
}

}  // namespace

TEST_CASE("a row that lives through three ends of its connection is tried alone, and parked when they go on") {
  CoreFixture fixture;
  const auto rows = two_keys();
  fixture.read(rows);
  fixture.ack({3});
  ends(fixture, ProducerKind::main, 2);
  CHECK(fixture.rebuilds.empty());
  ends(fixture, ProducerKind::main, 1);
  CHECK(fixture.said("again and again"));
  fixture.producer_ready();
  fixture.read_ready({});
  fixture.handed.clear();
  fixture.read({rows[0], rows[1], {.id = 4, .key = "B2"}});
  CHECK(fixture.take_handed_ids() == Ids{1, 4});
  CHECK(fixture.last_handed.at(1).producer == ProducerKind::probation);
  CHECK(fixture.last_handed.at(4).producer == ProducerKind::main);
  fixture.ack({4});  // Kafka takes others: the row is the offence.
  ends(fixture, ProducerKind::probation, 4);
  CHECK(fixture.rebuilds.empty());
  ends(fixture, ProducerKind::probation, 1);
  mark_all(fixture);
  REQUIRE(hold_of(fixture, 1) != nullptr);
  CHECK(hold_of(fixture, 1)->state == store::HeldState::parked);
  CHECK(hold_of(fixture, 1)->attempts == 1);
  CHECK(hold_of(fixture, 1)->last_error.find("socket.request.max.bytes") != std::string::npos);
  fixture.producer_ready(ProducerKind::probation);
  fixture.read_ready({});
  fixture.read(rows);
  mark_all(fixture);
  REQUIRE(hold_of(fixture, 2) != nullptr);
  CHECK(hold_of(fixture, 2)->state == store::HeldState::blocked);
}

TEST_CASE("where nothing speaks for Kafka it takes longer to park a row, and twice as long the next time") {
  CoreFixture fixture;
  try_alone(fixture, rows_of_key(1, 1));
  ends(fixture, ProducerKind::probation, 14);
  CHECK(fixture.rebuilds.empty());
  ends(fixture, ProducerKind::probation, 1);
  REQUIRE(fixture.rebuilds.size() == 1);
  fixture.producer_ready(ProducerKind::probation);
  mark_all(fixture);
  fixture.read_ready({});
  fixture.wake();
  try_alone(fixture, rows_of_key(2, 2, "B2"));
  ends(fixture, ProducerKind::probation, 29);
  CHECK(fixture.rebuilds.empty());
  ends(fixture, ProducerKind::probation, 1);
  CHECK(fixture.rebuilds.size() == 1);
}

TEST_CASE("an answer about its topic is enough against a large row") {
  CoreFixture fixture;
  auto rows = rows_of_key(1, 1);
  rows[0].payload = std::string(100'000, 'x');
  try_alone(fixture, rows);
  ends(fixture, ProducerKind::probation, 5);
  CHECK(fixture.rebuilds.size() == 1);
}

TEST_CASE("a broker that is away is no reason to suspect a row") {
  CoreFixture fixture;
  fixture.read(two_keys());
  for (int round = 0; round < 20; ++round) {
    ends(fixture, ProducerKind::main, 2);
    ends(fixture, ProducerKind::main, 1, false);
  }
  SUBCASE("nor is one that ends connections now and then") {
    for (int round = 0; round < 20; ++round) {
      ends(fixture, ProducerKind::main, 1);
      fixture.steady += 11s;
    }
  }
  CHECK(fixture.rebuilds.empty());
  CHECK(fixture.all_marks.empty());
}

TEST_CASE("a broker that goes away in the middle of a trial parks nothing") {
  CoreFixture fixture;
  try_alone(fixture, rows_of_key(1, 1));
  for (int round = 0; round < 20; ++round) {
    ends(fixture, ProducerKind::probation, 4);
    ends(fixture, ProducerKind::probation, 1, false);
  }
  CHECK(fixture.rebuilds.empty());
}

TEST_CASE("only rows that were in flight before the first of the ends are suspected") {
  CoreFixture fixture;
  fixture.read(rows_of_key(1, 1), false);
  fixture.ack({1});
  ends(fixture, ProducerKind::main, 1);
  fixture.read(rows_of_key(2, 2));
  ends(fixture, ProducerKind::main, 2);
  CHECK(fixture.rebuilds.empty());
  ends(fixture, ProducerKind::main, 3);
  CHECK(fixture.rebuilds.size() == 1);
}

TEST_CASE("while a row is tried alone the other suspects wait, and then have their turn in order") {
  CoreFixture fixture;
  const std::vector<TestRow> rows{{.id = 1, .key = "A1"}, {.id = 2, .key = "A1"}, {.id = 3, .key = "B3"}};
  REQUIRE(test_partitioner("A1", 4) != test_partitioner("B3", 4));
  try_alone(fixture, rows);
  CHECK(fixture.take_handed_ids() == Ids{1});
  fixture.ack({1});
  fixture.read_ready({});
  fixture.read(rows);
  // Nothing holds the first key any more, so its second row is on the main producer; the other suspect is alone.
  CHECK(fixture.take_handed_ids() == Ids{2, 3});
  CHECK(fixture.last_handed.at(2).producer == ProducerKind::main);
  CHECK(fixture.last_handed.at(3).producer == ProducerKind::probation);
}

TEST_CASE("two rows on probation at a time convict neither") {
  CoreFixture fixture;
  const auto rows = two_keys();
  fixture.read(rows);
  fixture.report(1, ReportKind::record_refused, kMsgSizeTooLarge);
  fixture.report(3, ReportKind::record_refused, kMsgSizeTooLarge);
  fixture.producer_ready();
  fixture.read_ready({});
  fixture.handed.clear();
  fixture.read(rows);
  CHECK(fixture.take_handed_ids() == Ids{1, 2, 3});
  ends(fixture, ProducerKind::probation, 20);
  fixture.advance(25ms);
  CHECK(hold_of(fixture, 1) == nullptr);
  REQUIRE(fixture.rebuilds.size() == 1);
  fixture.producer_ready(ProducerKind::probation);
  fixture.read_ready({});
  fixture.read(rows);
  CHECK(fixture.take_handed_ids() == Ids{1});
}

TEST_CASE("where no row was it by itself the batches get smaller") {
  CoreFixture fixture;
  const auto rows = rows_of_key(1, 3);
  fixture.read(rows);
  ends(fixture, ProducerKind::main, 3);
  REQUIRE(fixture.rebuilds.size() == 1);
  CHECK(fixture.rebuilds[0].batch_halvings == 0);
  fixture.producer_ready();
  fixture.read_ready({});
  fixture.read(rows);
  fixture.ack({1});
  fixture.read_ready({});
  fixture.read(rows);
  ends(fixture, ProducerKind::main, 3);
  REQUIRE(fixture.rebuilds.size() == 1);
  CHECK(fixture.rebuilds[0].batch_halvings == 1);
}

TEST_CASE("a suspect among the ready rows stays one when it is read again, and is forgotten when it is taken back") {
  CoreFixture fixture;
  std::vector<TestRow> rows{{.id = 1, .key = "A1", .held = store::HeldState::ready}};
  rows[0].held_lane = rows[0].lane();
  fixture.read(rows);
  fixture.read_ready(rows);
  CHECK(fixture.take_handed_ids() == Ids{1});
  ends(fixture, ProducerKind::main, 3);
  fixture.producer_ready();
  const std::vector<TestRow> other{{.id = 2, .key = "B2"}};
  SUBCASE("read again") {
    fixture.read_ready(rows);
    CHECK(fixture.last_handed.at(1).producer == ProducerKind::probation);
    fixture.wake();
    fixture.read(other);
    fixture.ack({2});
    ends(fixture, ProducerKind::probation, 5);
    mark_all(fixture);
    REQUIRE(hold_of(fixture, 1) != nullptr);
    CHECK(hold_of(fixture, 1)->state == store::HeldState::parked);
  }
  SUBCASE("taken back") {
    fixture.read_ready({});
    fixture.wake();
    fixture.read(other);
    fixture.report(2, ReportKind::record_refused, kMsgSizeTooLarge);
    fixture.producer_ready();
    fixture.read_ready({});
    fixture.handed.clear();
    const std::vector<TestRow> two{{.id = 2, .key = "B2"}, {.id = 3, .key = "B2"}};
    fixture.read(two);
    // No trial is under way any more, so the suspect's successor need not wait for its turn.
    CHECK(fixture.take_handed_ids() == Ids{2, 3});
  }
}

TEST_CASE("a row that overtook one that was parked is sent again behind it") {
  CoreFixture fixture;
  const auto rows = rows_of_key(1, 2);
  fixture.read(rows);
  fixture.report(1, ReportKind::record_refused, kMsgSizeTooLarge);
  fixture.producer_ready();
  fixture.read_ready({});
  fixture.read(rows);
  fixture.report(1, ReportKind::record_refused, kMsgSizeTooLarge);
  fixture.ack({2});
  fixture.advance(25ms);
  REQUIRE(fixture.marks.size() == 1);
  CHECK(fixture.marks[0].receipts.empty());
}

TEST_CASE("an outage that turns out to be rows that kill their connection ends without a word of acknowledgements") {
  CoreFixture fixture;
  fixture.read(two_keys());
  fixture.advance(16s);
  REQUIRE(fixture.said("reading pauses"));
  ends(fixture, ProducerKind::main, 3);
  REQUIRE(fixture.said("again and again"));
  CHECK_FALSE(fixture.core.status().outage);
  CHECK_FALSE(fixture.said("Kafka acknowledges again"));
}

TEST_CASE("a ready row that was suspected of killing its connection is acquitted by its acknowledgement") {
  CoreFixture fixture({}, false);
  event::DatabaseOpened opened;
  opened.progress = {1, 0, 1};
  fixture.step(opened);
  TestRow row{.id = 1};
  row.held = store::HeldState::ready;
  row.held_lane = row.lane();
  fixture.read_ready({row});
  fixture.read({});  // Its topic was asked about meanwhile.
  fixture.read_ready({row});
  REQUIRE(fixture.take_handed_ids() == Ids{1});
  ends(fixture, ProducerKind::main, 3);
  fixture.producer_ready();
  fixture.read_ready({row});
  REQUIRE(fixture.last_handed.at(1).producer == ProducerKind::probation);
  fixture.ack({1});
  mark_all(fixture);
  // It was not the row, so it was the batch: the next producer makes smaller ones.
  fixture.wake();
  if (fixture.reading_ready) fixture.read_ready({});
  fixture.read({{.id = 2, .key = "B2"}});
  fixture.report(2, ReportKind::unknown, -150);
  REQUIRE(fixture.rebuilds.size() == 1);
  CHECK(fixture.rebuilds[0].batch_halvings == 1);
}
