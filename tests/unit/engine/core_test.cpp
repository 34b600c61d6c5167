#include <doctest/doctest.h>

#include "core_fixture.hpp"

using namespace txbox;
using namespace txbox::test;
using namespace txbox::relay;
using namespace std::chrono_literals;

using Ids = std::vector<std::int64_t>;

TEST_CASE("rows go to the main producer in id order, to the partition of their key") {
  CoreFixture fixture;
  auto rows = rows_of_key(1, 2);
  rows.push_back({.id = 3, .key = "B2"});
  rows.push_back({.id = 4, .key = "B2", .partition = 2});
  fixture.read(rows);
  CHECK(fixture.handed == std::vector<Handed>{{1, ProducerKind::main, 0, test_partitioner("A1", 4)},
                                              {2, ProducerKind::main, 0, test_partitioner("A1", 4)},
                                              {3, ProducerKind::main, 0, test_partitioner("B2", 4)},
                                              {4, ProducerKind::main, 0, 2}});
}

TEST_CASE("acknowledged rows are marked with their coordinates after the interval, and settle") {
  CoreFixture fixture;
  fixture.read(rows_of_key(1, 3));
  fixture.ack({1, 2, 3});
  CHECK(fixture.marks.empty());
  fixture.advance(25ms);
  REQUIRE(fixture.marks.size() == 1);
  const command::Mark& mark = fixture.marks.front();
  REQUIRE(mark.receipts.size() == 3);
  CHECK(mark.receipts[1].id == 2);
  CHECK(mark.receipts[1].nonce_prefix == 2000);
  CHECK(mark.receipts[1].offset == 1);
  CHECK(mark.receipts[1].sent_at_ms == 1'700'000'000'000);
  CHECK(mark.settled_through == 3);
  fixture.marked();
  CHECK(fixture.core.status().settled_through == Ids{3});
  CHECK(fixture.core.status().sent == 3);
  CHECK(fixture.core.status().in_flight_rows == 0);
}

TEST_CASE("settled_through ends before the first row that is not acknowledged") {
  CoreFixture fixture;
  fixture.read(rows_of_key(1, 3));
  fixture.ack({1, 3});
  fixture.advance(25ms);
  REQUIRE(fixture.marks.size() == 1);
  CHECK(fixture.marks.front().receipts.size() == 2);
  CHECK(fixture.marks.front().settled_through == 1);
}

TEST_CASE("a full batch of acknowledgements is marked at once, and at most two marks are under way") {
  CoreOptions options;
  options.mark_rows = 2;
  CoreFixture fixture(options);
  fixture.read(rows_of_key(1, 8));
  fixture.ack({1, 2});
  CHECK(fixture.marks.size() == 1);
  fixture.ack({3, 4});
  CHECK(fixture.marks.size() == 2);
  fixture.ack({5, 6});
  CHECK(fixture.marks.size() == 2);
  fixture.marked();
  REQUIRE(fixture.marks.size() == 2);
  CHECK(fixture.marks.back().settled_through == 6);
}

TEST_CASE("rows that are sent or gone already are passed, and settle without a producer") {
  CoreFixture fixture;
  fixture.read({{.id = 1, .sent = true}, {.id = 7}, {.id = 9, .sent = true}});
  CHECK(fixture.take_handed_ids() == Ids{7});
  fixture.advance(25ms);
  REQUIRE(fixture.marks.size() == 1);
  CHECK(fixture.marks.front().receipts.empty());
  CHECK(fixture.marks.front().settled_through == 1);
  fixture.marked();
  fixture.ack({7});
  fixture.advance(25ms);
  REQUIRE(fixture.marks.size() == 1);
  CHECK(fixture.marks.front().settled_through == 9);
}

TEST_CASE("a wake that arrives during a reading is not lost") {
  CoreFixture fixture;
  fixture.wake();
  fixture.read({});
  CHECK(fixture.reading);
}

TEST_CASE("without any wake the table is read again after the floor interval") {
  CoreFixture fixture;
  fixture.read({});
  CHECK_FALSE(fixture.reading);
  CHECK(fixture.core.next_tick() <= fixture.steady + 1000ms);
  fixture.advance(1000ms);
  CHECK(fixture.reading);
}

TEST_CASE("reading stops when the window is full and shrinks to what is free") {
  CoreOptions options;
  options.window_rows = 4;
  options.mark_rows = 1;
  CoreFixture fixture(options);
  CHECK(fixture.reading->limits.rows == 4);
  fixture.read(rows_of_key(1, 6), false);
  CHECK(fixture.take_handed_ids() == Ids{1, 2, 3, 4});
  CHECK_FALSE(fixture.reading);
  fixture.ack({1});
  CHECK_FALSE(fixture.reading);
  fixture.marked();
  REQUIRE(fixture.reading);
  CHECK(fixture.reading->limits.rows == 1);
  CHECK(fixture.reading->after == 4);
}

TEST_CASE("the bytes in flight are bounded, but one row larger than the bound still goes") {
  CoreOptions options;
  options.window_bytes = 1000;
  CoreFixture fixture(options);
  auto rows = rows_of_key(1, 3);
  for (TestRow& row : rows) row.payload = std::string(600, 'x');
  rows[2].payload = std::string(5000, 'x');
  fixture.read(rows);
  CHECK(fixture.take_handed_ids() == Ids{1});
  CHECK_FALSE(fixture.reading);
  fixture.ack({1});
  fixture.read(rows);
  CHECK(fixture.take_handed_ids() == Ids{2});
  fixture.ack({2});
  fixture.read(rows);
  CHECK(fixture.take_handed_ids() == Ids{3});
}

TEST_CASE("rows without a key fill one partition for a while, then another") {
  CoreFixture fixture;
  std::vector<TestRow> rows;
  for (std::int64_t id = 1; id <= 64; ++id)
    rows.push_back({.id = id, .key = std::nullopt, .payload = std::string(4096, 'x')});
  fixture.read(rows);
  REQUIRE(fixture.handed.size() == 64);
  int changes = 0;
  for (std::size_t index = 1; index < 64; ++index)
    changes += fixture.handed[index].partition != fixture.handed[index - 1].partition;
  CHECK(changes >= 2);
  CHECK(changes <= 6);
}

TEST_CASE("databases are read in turn") {
  CoreFixture fixture;
  fixture.read({});
  event::DatabaseOpened second;
  second.database = 1;
  fixture.step(second);
  fixture.reading_ready.reset();
  fixture.step(event::ReadyRead{1, 0, {}, true});
  REQUIRE(fixture.reading);
  CHECK(fixture.reading->database == 1);
  fixture.read({});
  fixture.wake();
  REQUIRE(fixture.reading);
  CHECK(fixture.reading->database == 0);
}

TEST_CASE("a stop reads no more, waits for what is in flight, marks it, and says stopped") {
  CoreFixture fixture;
  fixture.read(rows_of_key(1, 2), false);
  fixture.reading.reset();
  fixture.step(event::StopRequested{});
  fixture.wake();
  CHECK_FALSE(fixture.reading);
  fixture.ack({1});
  CHECK(fixture.take<command::Stopped>().empty());
  fixture.ack({2});
  while (!fixture.marks.empty()) fixture.marked();
  CHECK(fixture.take<command::Stopped>().size() == 1);
  REQUIRE(fixture.all_marks.size() == 2);
  CHECK(fixture.all_marks.back().settled_through == 2);
}

TEST_CASE("after the deadline only what is acknowledged is marked before the stop") {
  CoreFixture fixture;
  fixture.read(rows_of_key(1, 2));
  fixture.ack({1});
  fixture.step(event::StopRequested{});
  fixture.step(event::StopDeadline{});
  CHECK(fixture.take<command::Stopped>().empty());
  fixture.marked();
  CHECK(fixture.take<command::Stopped>().size() == 1);
  CHECK(fixture.all_marks.back().settled_through == 1);
}

TEST_CASE("silence while rows are in flight is an outage: said once, no reading, no attempt") {
  CoreFixture fixture;
  fixture.read(rows_of_key(1, 2));
  fixture.advance(14s);
  fixture.reading.reset();
  CHECK_FALSE(fixture.core.status().outage);
  fixture.step(event::RowsRead{0, 2, {}, true, 0});
  fixture.advance(1s);
  CHECK(fixture.core.status().outage);
  fixture.advance(5s);
  CHECK_FALSE(fixture.reading);
  CHECK(fixture.words.size() == 1);
  CHECK(fixture.all_marks.empty());
  fixture.ack({1});
  CHECK_FALSE(fixture.core.status().outage);
  CHECK(fixture.words.size() == 2);
  CHECK(fixture.reading);
}
