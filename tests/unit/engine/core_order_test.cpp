// The order guard: what one failure stops, and where the lanes go on.

#include <doctest/doctest.h>

#include "core_fixture.hpp"

using namespace txbox;
using namespace txbox::test;
using namespace txbox::relay;
using namespace std::chrono_literals;

using Ids = std::vector<std::int64_t>;

namespace {

constexpr int kMsgSizeTooLarge = 10;
constexpr int kDenied = 29;
constexpr int kPurged = -152;

/// Row `culprit` of rows 1..last (one key) is refused, alone, by the probation producer.
void refuse_for_good(CoreFixture& fixture, const std::vector<TestRow>& rows, std::int64_t culprit) {
  fixture.report(culprit, ReportKind::record_refused, kMsgSizeTooLarge);
  fixture.producer_ready();
  fixture.read_ready({});
  fixture.read(rows);
  fixture.report(culprit, ReportKind::record_refused, kMsgSizeTooLarge);
}

}  // namespace

TEST_CASE("the first failure closes its producer at once and asks for a new one, once") {
  CoreFixture fixture;
  fixture.read(rows_of_key(1, 4), false);
  fixture.handed.clear();
  fixture.report(2, ReportKind::unknown, kPurged);
  REQUIRE(fixture.rebuilds.size() == 1);
  CHECK(fixture.rebuilds[0].producer == ProducerKind::main);
  CHECK(fixture.rebuilds[0].next_generation == 1);
  fixture.report(3, ReportKind::unknown, kPurged);
  CHECK(fixture.rebuilds.size() == 1);
  auto more = rows_of_key(5, 6);
  more.push_back({.id = 7, .key = "B2"});
  fixture.read(more);
  CHECK(fixture.take_handed_ids().empty());
  CHECK_FALSE(fixture.reading);
}

TEST_CASE("after the rebuild each lane goes on at its first row that is not acknowledged") {
  CoreFixture fixture;
  auto rows = rows_of_key(1, 3);
  rows.push_back({.id = 4, .key = "B2"});
  rows.push_back({.id = 5, .key = "B2"});
  fixture.read(rows);
  fixture.handed.clear();
  fixture.ack({1, 4});
  fixture.report(2, ReportKind::unknown, kPurged);
  fixture.producer_ready();  // Rows 3 and 5 never got a report.
  fixture.read_ready({});
  CHECK(fixture.reading->after == 1);
  fixture.read(rows);
  CHECK(fixture.take_handed_ids() == Ids{2, 3, 5});
  CHECK(fixture.last_handed.at(2).generation == 1);
  CHECK(fixture.core.status().possible_duplicates == 3);
}

TEST_CASE("an acknowledged row that overtook a failed one of its lane is sent again behind it") {
  CoreFixture fixture;
  const auto rows = rows_of_key(1, 3);
  fixture.read(rows);
  fixture.handed.clear();
  SUBCASE("acknowledged after the failure") {
    fixture.report(1, ReportKind::topic_refused, kDenied);
    fixture.ack({2, 3});
  }
  SUBCASE("acknowledged before the failure was reported") {
    fixture.ack({2, 3});
    fixture.report(1, ReportKind::topic_refused, kDenied);
  }
  fixture.advance(25ms);
  CHECK(fixture.marks.empty());
  fixture.producer_ready();
  fixture.read_ready({});
  fixture.read(rows);
  CHECK(fixture.take_handed_ids() == Ids{1, 2, 3});
}

TEST_CASE("acknowledgements of other lanes count while their producer is closed") {
  CoreFixture fixture;
  std::vector<TestRow> rows{{.id = 1, .key = "A1"}, {.id = 2, .key = "B2"}};
  fixture.read(rows);
  fixture.report(1, ReportKind::unknown, kPurged);
  fixture.ack({2});
  fixture.advance(25ms);
  REQUIRE(fixture.marks.size() == 1);
  CHECK(fixture.marks.front().receipts.size() == 1);
  CHECK(fixture.marks.front().receipts[0].id == 2);
}

TEST_CASE("a reading that began before the cursor went back is not used") {
  CoreFixture fixture;
  fixture.read(rows_of_key(1, 2), false);
  fixture.handed.clear();
  fixture.report(1, ReportKind::unknown, kPurged);
  fixture.producer_ready();
  REQUIRE(fixture.reading);
  CHECK(fixture.reading->after == 2);
  fixture.read(rows_of_key(3, 4));
  CHECK(fixture.take_handed_ids().empty());
  CHECK(fixture.reading_ready);
  fixture.read_ready({});
  CHECK(fixture.reading->after == 0);
}

TEST_CASE("rebuilds without an acknowledgement between them wait longer and longer") {
  CoreFixture fixture;
  const auto rows = rows_of_key(1, 1);
  std::chrono::milliseconds before{0};
  for (int round = 0; round < 6; ++round) {
    fixture.read(rows);
    fixture.report(1, ReportKind::unknown, kPurged);
    const auto wait = fixture.rebuilds.at(0).wait;
    if (round == 0) {
      CHECK(wait == 0ms);
    } else {
      CHECK(wait >= before / 2);
      CHECK(wait >= 25ms * (1 << (round - 1)));
    }
    before = wait;
    fixture.producer_ready();
    fixture.read_ready({});
  }
  fixture.read(rows);
  fixture.ack({1});
  fixture.wake();
  fixture.read(rows_of_key(2, 2));
  fixture.report(2, ReportKind::unknown, kPurged);
  CHECK(fixture.rebuilds.at(0).wait == 0ms);
}

TEST_CASE("the rows of a refused batch go through probation one by one while other keys flow on") {
  CoreFixture fixture;
  auto rows = rows_of_key(1, 3);
  rows.push_back({.id = 4, .key = "B2"});
  fixture.read(rows);
  fixture.handed.clear();
  for (const std::int64_t id : {1, 2}) fixture.report(id, ReportKind::record_refused, kMsgSizeTooLarge);
  fixture.producer_ready();
  fixture.read_ready({});
  fixture.read(rows);
  REQUIRE(fixture.handed.size() == 4);
  for (std::size_t index : {0U, 1U, 2U}) CHECK(fixture.handed[index].producer == ProducerKind::probation);
  CHECK(fixture.handed[3].row == 4);
  CHECK(fixture.handed[3].producer == ProducerKind::main);
}

TEST_CASE("innocent rows of a refused batch are never parked, and their lane returns when nothing is in flight") {
  CoreFixture fixture;
  auto rows = rows_of_key(1, 2);
  fixture.read(rows);
  for (const std::int64_t id : {1, 2}) fixture.report(id, ReportKind::record_refused, kMsgSizeTooLarge);
  fixture.producer_ready();
  fixture.read_ready({});
  fixture.read(rows);
  fixture.handed.clear();
  fixture.ack({1});
  fixture.wake();
  rows.push_back({.id = 3});
  fixture.read(rows);
  CHECK(fixture.handed.back().producer == ProducerKind::probation);
  fixture.ack({2});
  // No suspect is left: row 4 waits until row 3 has its report, and goes out behind it by the main producer.
  rows.push_back({.id = 4});
  fixture.wake();
  fixture.handed.clear();
  fixture.read(rows);
  CHECK(fixture.handed.empty());
  fixture.ack({3});
  fixture.read_ready({});
  fixture.read(rows);
  REQUIRE(fixture.handed.size() == 1);
  CHECK(fixture.handed[0].row == 4);
  CHECK(fixture.handed[0].producer == ProducerKind::main);
  fixture.advance(25ms);
  for (const command::Mark& mark : fixture.all_marks) CHECK(mark.holds.empty());
}

TEST_CASE("a row refused alone is parked with Kafka's words and one attempt, and its key waits") {
  CoreFixture fixture;
  const auto rows = rows_of_key(1, 3);
  fixture.read(rows);
  refuse_for_good(fixture, rows, 2);
  fixture.ack({1});
  fixture.producer_ready(ProducerKind::probation);
  fixture.read_ready({});
  fixture.handed.clear();
  fixture.read(rows);
  CHECK(fixture.handed.empty());
  fixture.advance(25ms);
  REQUIRE(fixture.marks.size() == 1);
  const auto& holds = fixture.marks.front().holds;
  REQUIRE(holds.size() == 2);
  CHECK(holds[0].id == 2);
  CHECK(holds[0].state == store::HeldState::parked);
  CHECK(holds[0].lane == rows[0].lane());
  CHECK(holds[0].attempts == 1);
  CHECK(holds[0].last_error.starts_with("MSG_SIZE_TOO_LARGE: "));
  CHECK(holds[1].id == 3);
  CHECK(holds[1].state == store::HeldState::blocked);
  CHECK(holds[1].attempts == 0);
  CHECK(fixture.marks.front().settled_through == 3);
}

TEST_CASE(
    "however many rows are refused, those of other keys go out at once, and no refusal waits for the one before") {
  CoreFixture fixture;
  constexpr std::int64_t kRefused = 20;
  std::vector<TestRow> rows;
  for (std::int64_t id = 1; id <= kRefused; ++id) rows.push_back({.id = id, .key = "bad-" + std::to_string(id)});
  for (std::int64_t id = kRefused + 1; id <= kRefused + 3; ++id) rows.push_back({.id = id, .key = "good"});
  fixture.read(rows);
  fixture.report(kRefused + 1, ReportKind::sent);
  for (std::int64_t id = 1; id <= kRefused; ++id) {
    fixture.report(id, ReportKind::record_refused, kMsgSizeTooLarge);
  }
  fixture.producer_ready();
  fixture.read_ready({});
  fixture.handed.clear();
  fixture.read(rows);
  CHECK(fixture.last_handed.at(kRefused + 2).generation == 1);
  CHECK(fixture.last_handed.at(kRefused + 3).producer == ProducerKind::main);
  for (std::int64_t id = 1; id <= kRefused; ++id) {
    CAPTURE(id);
    REQUIRE(fixture.last_handed.at(id).producer == ProducerKind::probation);
    fixture.report(id, ReportKind::record_refused, kMsgSizeTooLarge);
    REQUIRE(fixture.rebuilds.size() == 1);
    CHECK(fixture.rebuilds.front().wait == 0ms);
    fixture.producer_ready(ProducerKind::probation);
    fixture.read_ready({});
    if (id < kRefused) fixture.read(rows);
  }
}

TEST_CASE("with on_refusal = skip the key goes on without the refused row") {
  CoreOptions options;
  options.on_refusal = OnRefusal::skip;
  CoreFixture fixture(options);
  const auto rows = rows_of_key(1, 3);
  fixture.read(rows);
  refuse_for_good(fixture, rows, 1);
  fixture.producer_ready(ProducerKind::probation);
  fixture.read_ready({});
  fixture.handed.clear();
  fixture.read(rows);
  CHECK(fixture.take_handed_ids() == Ids{2, 3});
  fixture.advance(25ms);
  REQUIRE(fixture.marks.size() == 1);
  REQUIRE(fixture.marks.front().holds.size() == 1);
  CHECK_FALSE(fixture.marks.front().holds[0].lane);
}

TEST_CASE("what becomes of a refused row's key may change while it runs, for what is refused from then on") {
  for (const OnRefusal asked : {OnRefusal::skip, OnRefusal::block}) {
    CoreOptions options;
    options.on_refusal = asked == OnRefusal::skip ? OnRefusal::block : OnRefusal::skip;
    CoreFixture fixture(options);
    const auto rows = rows_of_key(1, 3);
    fixture.read(rows);
    fixture.step(event::RefusalPolicy{asked});
    refuse_for_good(fixture, rows, 1);
    fixture.producer_ready(ProducerKind::probation);
    fixture.read_ready({});
    fixture.handed.clear();
    fixture.read(rows);
    CHECK(fixture.take_handed_ids() == (asked == OnRefusal::skip ? Ids{2, 3} : Ids{}));
  }
}

TEST_CASE("an unknown outcome costs no attempt and parks nothing, however often") {
  CoreFixture fixture;
  const auto rows = rows_of_key(1, 2);
  for (int round = 0; round < 20; ++round) {
    fixture.read(rows);
    fixture.report(1, ReportKind::unknown, kPurged);
    fixture.producer_ready();
    fixture.read_ready({});
  }
  fixture.advance(25ms);
  CHECK(fixture.all_marks.empty());
}

TEST_CASE("a late report of an older producer does not close the new one") {
  CoreFixture fixture;
  const auto rows = rows_of_key(1, 1);
  fixture.read(rows);
  fixture.report(1, ReportKind::unknown, kPurged);
  fixture.producer_ready();
  fixture.read_ready({});
  fixture.read(rows);
  event::Report late;
  late.row = 1;
  late.generation = 0;
  late.kind = ReportKind::unknown;
  fixture.step(event::Reports{{&late, 1}});
  CHECK(fixture.rebuilds.empty());
}
