// Partitions that take nothing, and topics that nobody describes: what they hold up, and what they do not.

#include <doctest/doctest.h>

#include "core_fixture.hpp"

using namespace txbox;
using namespace txbox::test;
using namespace txbox::relay;
using namespace std::chrono_literals;

using Ids = std::vector<std::int64_t>;

namespace {

CoreOptions small_window() {
  CoreOptions options;
  options.window_rows = 4;
  return options;
}

/// Two partitions; the second is as said.
TopicFacts second_partition(std::int32_t in_sync, std::int32_t assigned = 3) {
  TopicFacts facts = usable_topic(2);
  facts.min_insync_replicas = 2;
  facts.by_partition = {{3, 3}, {in_sync, assigned}};
  return facts;
}

/// `count` rows for partition 1 of "orders" and behind them one of "invoices".
std::vector<TestRow> rows_behind_a_partition(std::int64_t count) {
  std::vector<TestRow> rows;
  for (std::int64_t id = 1; id <= count; ++id) rows.push_back({.id = id, .partition = 1});
  rows.push_back({.id = count + 1, .topic = "invoices", .key = "B2"});
  return rows;
}

const store::Hold* hold_of(const CoreFixture& fixture, std::int64_t row) {
  for (const command::Mark& mark : fixture.all_marks) {
    for (const store::Hold& hold : mark.holds) {
      if (hold.id == row) return &hold;
    }
  }
  return nullptr;
}

void mark_all(CoreFixture& fixture) {
  for (int round = 0; round < 3; ++round) {
    fixture.advance(25ms);
    while (!fixture.marks.empty()) fixture.marked();
  }
}

/// Time passes, and whoever is asked answers.
void wait(CoreFixture& fixture, std::chrono::milliseconds time) {
  for (auto passed = 0ms; passed < time; passed += 250ms) fixture.advance(250ms);
}

}  // namespace

TEST_CASE("rows of a partition without a leader give the window back, and wait") {
  CoreFixture fixture(small_window());
  fixture.facts["orders"] = second_partition(0);
  const auto rows = rows_behind_a_partition(6);
  fixture.read(rows, false);
  CHECK(fixture.take_handed_ids() == Ids{1, 2, 3, 4});
  CHECK_FALSE(fixture.reading);  // The window is full.
  wait(fixture, 3s);
  CHECK(fixture.said("LEADER_NOT_AVAILABLE"));
  fixture.producer_ready();
  // As often as it asks: the window is small.
  for (int round = 0; round < 10; ++round) {
    if (fixture.reading) fixture.read(rows);
    mark_all(fixture);
    if (fixture.reading_ready) fixture.read_ready({});
  }
  CHECK(fixture.take_handed_ids() == Ids{7});
  REQUIRE(hold_of(fixture, 1) != nullptr);
  CHECK(hold_of(fixture, 1)->state == store::HeldState::waiting);
  CHECK(hold_of(fixture, 1)->attempts == 0);
  CHECK(hold_of(fixture, 1)->last_error.find("(partition 1 has no leader)") != std::string::npos);
  REQUIRE(hold_of(fixture, 6) != nullptr);
  CHECK(hold_of(fixture, 6)->state == store::HeldState::blocked);
  CHECK(fixture.core.status().in_flight_rows == 1);
}

TEST_CASE("a partition that is short of replicas makes its rows wait, one that asks for more than it has does not") {
  for (const std::int32_t assigned : {3, 1}) {
    CoreFixture fixture;
    fixture.facts["orders"] = second_partition(1, assigned);
    fixture.read(rows_behind_a_partition(1));
    fixture.ack({2});
    wait(fixture, 10s);
    CHECK(fixture.rebuilds.size() == (assigned == 3 ? 1 : 0));
    CHECK(fixture.said("(partition 1 has 1 in sync, the topic asks for 2)") == (assigned == 3));
  }
}

TEST_CASE("silence alone makes no row wait") {
  CoreFixture fixture;
  fixture.facts["orders"] = second_partition(3);
  fixture.read(rows_behind_a_partition(1));
  SUBCASE("Kafka says that all is well") {}
  SUBCASE("Kafka does not answer") { fixture.facts["orders"].state = TopicFacts::State::unreachable; }
  const int before = fixture.descriptions;
  wait(fixture, 60s);
  CHECK(fixture.rebuilds.empty());
  CHECK(hold_of(fixture, 1) == nullptr);
  // It is asked about all the while, and not at every step.
  CHECK(fixture.descriptions > before + 5);
  CHECK(fixture.descriptions < before + 60);
}

TEST_CASE("a partition that is acknowledged is not asked about") {
  CoreFixture fixture;
  fixture.facts["orders"] = second_partition(0);
  std::vector<TestRow> rows = rows_behind_a_partition(20);
  rows.pop_back();
  fixture.read(rows);
  const int before = fixture.descriptions;
  for (std::int64_t row = 1; row <= 20; ++row) {
    fixture.advance(900ms);
    fixture.ack({row});
  }
  CHECK(fixture.descriptions == before);
  CHECK(fixture.rebuilds.empty());
}

TEST_CASE("a partition that has just lost its leader is given a moment") {
  CoreFixture fixture;
  fixture.facts["orders"] = second_partition(0);
  fixture.read(rows_behind_a_partition(1));
  fixture.advance(700ms);
  fixture.describe("orders", second_partition(0));
  CHECK_FALSE(fixture.said("LEADER_NOT_AVAILABLE"));
  fixture.advance(400ms);
  fixture.describe("orders", second_partition(0));
  CHECK(fixture.said("LEADER_NOT_AVAILABLE"));
}

TEST_CASE("a partition that was silent for long is asked about soon when it falls silent again") {
  CoreFixture fixture;
  fixture.facts["orders"] = second_partition(3);
  fixture.read({{.id = 1, .partition = 1}});
  wait(fixture, 30s);
  fixture.ack({1});
  mark_all(fixture);
  fixture.wake();
  if (fixture.reading_ready) fixture.read_ready({});
  fixture.read({{.id = 1, .partition = 1, .sent = true}, {.id = 2, .partition = 1}});
  fixture.describe("orders", second_partition(3));
  const int before = fixture.descriptions;
  wait(fixture, 2500ms);
  CHECK(fixture.descriptions > before);
}

TEST_CASE("an acknowledgement says that the partition takes records") {
  CoreFixture fixture;
  fixture.facts["orders"] = second_partition(0);
  fixture.read(rows_behind_a_partition(1));
  wait(fixture, 1500ms);
  REQUIRE(fixture.said("LEADER_NOT_AVAILABLE"));
  fixture.ack({1});
  CHECK(fixture.said("takes records again"));
}

TEST_CASE("what is in flight to other partitions is acknowledged before the producer ends") {
  CoreFixture fixture;
  fixture.facts["orders"] = second_partition(0);
  fixture.read(rows_behind_a_partition(1));
  wait(fixture, 1500ms);
  REQUIRE(fixture.said("LEADER_NOT_AVAILABLE"));
  CHECK(fixture.rebuilds.empty());
  SUBCASE("as soon as it is") {
    fixture.ack({2});
    CHECK(fixture.rebuilds.size() == 1);
  }
  SUBCASE("or two seconds later") {
    wait(fixture, 2s);
    CHECK(fixture.rebuilds.size() == 1);
  }
  SUBCASE("or when the producer fails for another reason") {
    fixture.report(2, ReportKind::unknown, -150);
    CHECK(fixture.rebuilds.size() == 1);
    wait(fixture, 5s);
    CHECK(fixture.rebuilds.size() == 1);
  }
}

TEST_CASE("rows that wait for a partition go on when Kafka says that it takes records again") {
  CoreFixture fixture;
  fixture.facts["orders"] = second_partition(0);
  const auto rows = rows_behind_a_partition(2);
  fixture.read(rows);
  fixture.ack({3});
  wait(fixture, 1500ms);
  fixture.producer_ready();
  fixture.read_ready({});
  fixture.read(rows);
  mark_all(fixture);
  CHECK(fixture.take<command::ReleaseTopic>().empty());
  fixture.facts["orders"] = second_partition(2);
  wait(fixture, 3s);
  CHECK(fixture.said("takes records again"));
  const auto releases = fixture.take<command::ReleaseTopic>();
  REQUIRE(releases.size() == 1);
  CHECK(releases[0].topic == "orders");
  CHECK(releases[0].after == 0);
}

TEST_CASE("a row that needs no certain partition goes to one that takes it") {
  CoreFixture fixture;
  fixture.facts["orders"] = second_partition(0);
  fixture.read({{.id = 1, .partition = 1}});
  wait(fixture, 1500ms);
  fixture.producer_ready();
  fixture.read_ready({});
  std::vector<TestRow> rows{{.id = 1, .partition = 1}};
  // More than any partition gets in a row.
  for (std::int64_t id = 2; id <= 9; ++id) {
    rows.push_back({.id = id, .key = std::nullopt, .payload = std::string(60'000, 'x')});
  }
  fixture.read(rows);
  for (std::int64_t id = 2; id <= 9; ++id) CHECK(fixture.last_handed.at(id).partition == 0);
  CHECK(fixture.last_handed.at(1).generation == 0);
}

TEST_CASE("a topic about which Kafka never answers does not hold up the others that it answers about") {
  CoreFixture fixture;
  TopicFacts silent;
  silent.state = TopicFacts::State::unreachable;
  silent.reason = "LEADER_NOT_AVAILABLE: Broker: Leader not available";
  fixture.facts["orders"] = silent;
  const std::vector<TestRow> rows{{.id = 1}, {.id = 2, .topic = "invoices"}};
  SUBCASE("others are answered about") {
    fixture.read({{.id = 1, .topic = "invoices"}});
    fixture.ack({1});
    fixture.wake();
    fixture.read({{.id = 2}, {.id = 3, .topic = "invoices"}});
    CHECK(fixture.take_handed_ids() == Ids{1});
    for (int time = 0; time < 20; ++time) {
      fixture.describe("invoices", usable_topic());
      wait(fixture, 1s);
    }
    fixture.read({{.id = 2}, {.id = 3, .topic = "invoices"}});
    CHECK(fixture.take_handed_ids() == Ids{3});
    mark_all(fixture);
    REQUIRE(hold_of(fixture, 2) != nullptr);
    CHECK(hold_of(fixture, 2)->state == store::HeldState::waiting);
    CHECK(hold_of(fixture, 2)->last_error == silent.reason);
  }
  SUBCASE("nobody is: it is an outage") {
    fixture.read(rows);
    wait(fixture, 20s);
    CHECK_FALSE(fixture.reading);
    CHECK_FALSE(fixture.said("paused"));
  }
}
