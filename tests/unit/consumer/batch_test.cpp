#include <doctest/doctest.h>

#include "core_fixture.hpp"

using namespace txbox;
using namespace txbox::test;
using namespace txbox::inbox;
using namespace txbox::inbox::consumer;
using namespace std::chrono_literals;

namespace {

const TestPlace kSeven{.stored = 7, .committed = 7};

/// Assigned at 7, with nothing left to look at.
void settle(ConsumerFixture& fixture, const std::vector<TestPlace>& places = {kSeven}) {
  fixture.assigned(places);
  static_cast<void>(fixture.take());
}

CoreOptions batches_of(std::size_t messages) {
  CoreOptions options;
  options.batch_messages = messages;
  return options;
}

}  // namespace

TEST_CASE("what arrived in one glance is one transaction, and Kafka is told after it") {
  ConsumerFixture fixture;
  settle(fixture);
  fixture.arrive({7, 8, 9});
  CHECK(fixture.take().empty());
  CHECK(fixture.core.next_tick() <= fixture.steady);
  fixture.idle();
  CHECK(fixture.take() == Lines{"begin", "apply o0@7 #1", "apply o0@8 #1", "apply o0@9 #1", "close o0:7>10",
                                "forget o0@7", "forget o0@8", "forget o0@9", "kafka o0@10"});
  CHECK(fixture.core.status().applied == 3);
  CHECK(fixture.core.status().in_hand == 0);
}

TEST_CASE("gaps between offsets are normal: the position is behind the last message, whatever its offset") {
  ConsumerFixture fixture;
  settle(fixture);
  fixture.arrive({12, 30});
  fixture.idle();
  CHECK(fixture.take({"close"}) == Lines{"close o0:7>31"});
}

TEST_CASE("a duplicate advances the position like any other message") {
  ConsumerFixture fixture;
  settle(fixture);
  event::Applied duplicate;
  duplicate.kind = event::Applied::Kind::duplicate;
  fixture.will(7, duplicate);
  fixture.arrive({7, 8});
  fixture.idle();
  CHECK(fixture.take({"close"}) == Lines{"close o0:7>9"});
  CHECK(fixture.core.status().duplicates == 1);
  CHECK(fixture.core.status().applied == 1);
}

TEST_CASE("a batch closes after batch_messages, begins by itself when full, and all partitions get their turn") {
  ConsumerFixture fixture(batches_of(2));
  settle(fixture, {kSeven, {.place = {"o", 1}, .stored = 1, .committed = 1}});
  fixture.arrive({7});
  fixture.arrive({"o", 1}, {1});
  CHECK(fixture.take({"apply", "close"}) == Lines{"apply o0@7 #1", "apply o1@1 #1", "close o0:7>8 o1:1>2"});
  fixture.arrive({8});
  fixture.idle();
  fixture.arrive({9, 10});
  CHECK(fixture.take({"close"}) == Lines{"close o0:8>9", "close o0:9>11"});
}

TEST_CASE("a batch closes after it has held the lock long enough, and the rest waits for a look at the group") {
  ConsumerFixture fixture;
  settle(fixture);
  fixture.handler_takes = 15ms;
  fixture.arrive({7, 8, 9});
  fixture.idle();
  CHECK(fixture.take({"apply", "close"}) == Lines{"apply o0@7 #1", "apply o0@8 #1", "close o0:7>9"});
  CHECK(fixture.core.next_tick() <= fixture.steady);
  fixture.idle();
  CHECK(fixture.take({"apply", "close"}) == Lines{"apply o0@9 #1", "close o0:9>10"});
}

TEST_CASE("a partition with much in hand does not keep the others waiting") {
  ConsumerFixture fixture(batches_of(4));
  settle(fixture, {kSeven, {.place = {"o", 1}, .stored = 1, .committed = 1}});
  fixture.handler_takes = 15ms;
  fixture.arrive({7, 8, 9});
  fixture.arrive({"o", 1}, {1});
  fixture.idle();
  CHECK(fixture.take({"apply"}) == Lines{"apply o0@7 #1", "apply o0@8 #1", "apply o1@1 #1", "apply o0@9 #1"});
}

TEST_CASE("a handler that holds the lock for long is told to prepare") {
  ConsumerFixture fixture;
  settle(fixture);
  fixture.handler_takes = 400ms;
  fixture.arrive({7, 8});
  fixture.idle();
  fixture.idle();
  CHECK(fixture.times_said("400 ms") == 1);
}

TEST_CASE("a failed begin costs no attempt, and is tried again with back-off") {
  ConsumerFixture fixture;
  settle(fixture);
  fixture.begin_failures = {"database is locked", "database is locked"};
  fixture.arrive({7});
  fixture.idle();
  fixture.idle();
  CHECK(fixture.take() == Lines{"begin"});
  CHECK(fixture.core.next_tick() > fixture.steady);
  fixture.advance(1s);
  fixture.advance(1s);
  CHECK(fixture.take({"begin", "apply"}) == Lines{"begin", "begin", "apply o0@7 #1"});
  CHECK(fixture.times_said("locked") == 1);
}

TEST_CASE("while the database is locked what arrives is bounded: the partition is paused, and goes on afterwards") {
  ConsumerFixture fixture(batches_of(2));
  settle(fixture);
  fixture.begin_failures = {"database is locked"};
  fixture.arrive({7, 8, 9});
  CHECK(fixture.take() == Lines{"begin"});
  fixture.arrive({10});
  CHECK(fixture.take() == Lines{"pause o0"});
  fixture.advance(1s);
  fixture.idle();
  CHECK(fixture.take({"close", "resume"}) == Lines{"close o0:7>9", "close o0:9>11", "resume o0"});
}

TEST_CASE("what is in hand is bounded in bytes as well") {
  CoreOptions options;
  options.hand_bytes = 1000;
  ConsumerFixture fixture(options);
  settle(fixture);
  fixture.begin_failures = {"database is locked"};
  fixture.bytes = 600;
  fixture.arrive({7, 8, 9, 10});
  CHECK(fixture.take() == Lines{"begin", "pause o0"});
}

TEST_CASE("a rolled back batch is in hand as before, and is tried again") {
  ConsumerFixture fixture;
  settle(fixture);
  fixture.closes = {{event::Closed::Result::failed, "disk is full"}};
  fixture.arrive({7, 8});
  fixture.idle();
  CHECK(fixture.take({"apply", "close", "forget"}) == Lines{"apply o0@7 #1", "apply o0@8 #1", "close o0:7>9"});
  CHECK(fixture.core.status().applied == 0);
  fixture.idle();
  CHECK(fixture.take().empty());
  fixture.advance(5s);
  CHECK(fixture.take({"apply", "close"}) == Lines{"apply o0@7 #1", "apply o0@8 #1", "close o0:7>9"});
  CHECK(fixture.core.status().applied == 2);
}

TEST_CASE("a conflict drops what is in hand, and everything starts at the position as it is now") {
  ConsumerFixture fixture;
  settle(fixture);
  fixture.closes = {{event::Closed::Result::conflict, ""}};
  fixture.arrive({7, 8});
  fixture.places.at({"o", 0}).stored = 30;
  fixture.idle();
  CHECK(fixture.take() == Lines{"begin", "apply o0@7 #1", "apply o0@8 #1", "close o0:7>9", "pause o0", "give up o0@7/1",
                                "forget all", "load o0", "take o0", "assign o0@30", "kafka o0@30"});
  CHECK(fixture.core.status().conflicts == 1);
  CHECK(fixture.core.status().applied == 0);
}

TEST_CASE("conflicts in a row wait longer and longer") {
  ConsumerFixture fixture;
  settle(fixture);
  fixture.closes = {{event::Closed::Result::conflict, ""}, {event::Closed::Result::conflict, ""}};
  fixture.arrive({7});
  fixture.idle();
  fixture.arrive({7});
  static_cast<void>(fixture.take());
  fixture.idle();
  CHECK(fixture.take({"load"}).empty());
  fixture.advance(5s);
  CHECK(fixture.take({"load"}) == Lines{"load o0"});
}

TEST_CASE("conflicts that nobody's commit and no assignment interrupts end the run with an error") {
  ConsumerFixture fixture;
  settle(fixture);
  const auto conflict = [&fixture] {
    fixture.closes = {{event::Closed::Result::conflict, ""}};
    fixture.arrive({7});
    fixture.idle();
    fixture.advance(5s);
  };
  for (int times = 0; times < 19; ++times) conflict();
  fixture.assigned({{.stored = 7, .committed = 7}});
  for (int times = 0; times < 19; ++times) conflict();
  CHECK_FALSE(fixture.ended());
  conflict();
  REQUIRE(fixture.ended());
  CHECK(fixture.end->find("inbox_offsets") != std::string::npos);
}

TEST_CASE("while the positions are read again nothing is fetched for nothing") {
  ConsumerFixture fixture;
  settle(fixture);
  fixture.closes = {{event::Closed::Result::conflict, ""}};
  fixture.load_failures = {"no answer"};
  fixture.arrive({7});
  fixture.idle();
  CHECK(fixture.take({"pause", "give", "forget", "load", "assign"}) ==
        Lines{"pause o0", "give up o0@7/1", "forget all", "load o0"});
  fixture.advance(5s);
  CHECK(fixture.take({"assign"}) == Lines{"assign o0@7"});
}

TEST_CASE("after a commit that may have happened the position is read, and decides") {
  ConsumerFixture fixture;
  settle(fixture);
  fixture.closes = {{event::Closed::Result::unknown, "disk I/O error"}};
  SUBCASE("it happened") {
    fixture.places.at({"o", 0}).stored = 9;
    fixture.arrive({7, 8});
    fixture.idle();
    CHECK(fixture.take({"assign", "kafka"}) == Lines{"assign o0@9", "kafka o0@9"});
  }
  SUBCASE("it did not") {
    fixture.arrive({7, 8});
    fixture.idle();
    CHECK(fixture.take({"assign", "kafka"}) == Lines{"assign o0@7"});
  }
}

TEST_CASE("Kafka is told at most once an interval, of the newest position") {
  ConsumerFixture fixture;
  settle(fixture);
  for (const std::int64_t offset : {7, 8, 9}) {
    fixture.arrive({offset});
    fixture.idle();
  }
  CHECK(fixture.take({"kafka"}) == Lines{"kafka o0@8"});
  CHECK(fixture.core.next_tick() <= fixture.steady + 200ms);
  fixture.advance(200ms);
  CHECK(fixture.take({"kafka"}) == Lines{"kafka o0@10"});
  fixture.advance(200ms);
  CHECK(fixture.take({"kafka"}).empty());
}

TEST_CASE("a commit that Kafka refused is made again at the next turn, with the position of then") {
  ConsumerFixture fixture;
  settle(fixture);
  fixture.kafka_takes_commits = false;
  fixture.arrive({7});
  fixture.idle();
  fixture.kafka_takes_commits = true;
  fixture.arrive({8});
  fixture.idle();
  CHECK(fixture.take({"kafka"}) == Lines{"kafka o0@8"});
  fixture.advance(200ms);
  CHECK(fixture.take({"kafka"}) == Lines{"kafka o0@9"});
}

TEST_CASE("a partition that ends in control records is stored at its end, with the batch or alone") {
  ConsumerFixture fixture;
  settle(fixture);
  SUBCASE("with the batch") {
    fixture.arrive({7});
    fixture.end_reached(9);
    fixture.idle();
    CHECK(fixture.take({"close", "kafka"}) == Lines{"close o0:7>9", "kafka o0@9"});
  }
  SUBCASE("alone") {
    fixture.end_reached(9);
    CHECK(fixture.core.next_tick() <= fixture.steady);
    fixture.idle();
    CHECK(fixture.take() == Lines{"begin", "close o0:7>9", "kafka o0@9"});
  }
  SUBCASE("not when it is there already") {
    fixture.end_reached(7);
    fixture.idle();
    CHECK(fixture.take().empty());
  }
}

TEST_CASE("the end does not pass a message that is still in hand") {
  ConsumerFixture fixture;
  settle(fixture);
  fixture.will_fail(8);
  fixture.arrive({7, 8});
  fixture.end_reached(10);
  fixture.idle();
  CHECK(fixture.take({"close"}) == Lines{"close o0:7>8"});
}

TEST_CASE("what comes again below the position, or is in hand already, is dropped") {
  ConsumerFixture fixture;
  settle(fixture);
  fixture.arrive({5});
  CHECK(fixture.take() == Lines{"forget o0@5"});
  fixture.arrive({7, 9, 7, 8});
  CHECK(fixture.take() == Lines{"forget o0@8"});
  fixture.idle();
  CHECK(fixture.take({"apply"}) == Lines{"apply o0@7 #1", "apply o0@9 #1"});
}

TEST_CASE("a topic with slow work is prepared before the lock is taken") {
  ConsumerFixture fixture;
  settle(fixture);
  fixture.has_prepare = true;
  fixture.arrive({7, 8});
  fixture.idle();
  CHECK(fixture.take({"prepare", "begin", "apply"}) ==
        Lines{"prepare o0@7", "prepare o0@8", "begin", "apply o0@7 #1", "apply o0@8 #1"});
}

TEST_CASE("work that fails in preparation is a failed attempt, and is prepared again for the next") {
  ConsumerFixture fixture;
  settle(fixture);
  fixture.has_prepare = true;
  fixture.unprepared[8] = "no answer";
  fixture.arrive({7, 8});
  fixture.idle();
  const Lines lines = fixture.take({"prepare", "apply", "failed", "close"});
  REQUIRE(lines.size() == 5);
  CHECK(lines[3].starts_with("failed o0@8 +"));
  CHECK(lines[4] == "close o0:7>8");
  fixture.unprepared.clear();
  fixture.advance(200ms);
  CHECK(fixture.take({"prepare", "apply"}) == Lines{"prepare o0@8", "apply o0@8 #2"});
}

TEST_CASE("a refused commit is not made again at once, even without an interval") {
  CoreOptions options;
  options.kafka_commit_interval = 0ms;
  ConsumerFixture fixture(options);
  settle(fixture);
  fixture.kafka_takes_commits = false;
  fixture.arrive({7});
  fixture.idle();
  CHECK(fixture.take({"kafka"}) == Lines{"kafka o0@8"});
  fixture.kafka_takes_commits = true;
  fixture.advance(100ms);
  CHECK(fixture.take({"kafka"}) == Lines{"kafka o0@8"});
}
