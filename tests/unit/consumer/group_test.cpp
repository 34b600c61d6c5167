#include <doctest/doctest.h>

#include "core_fixture.hpp"

using namespace txbox;
using namespace txbox::test;
using namespace txbox::inbox;
using namespace txbox::inbox::consumer;
using namespace std::chrono_literals;

namespace {

TestPlace at_seven(std::int64_t high = 100) { return {.stored = 7, .committed = 7, .high = high}; }

CoreOptions drain() {
  CoreOptions options;
  options.drain = true;
  return options;
}

void settle(ConsumerFixture& fixture, const std::vector<TestPlace>& places) {
  fixture.assigned(places);
  static_cast<void>(fixture.take());
}

}  // namespace

TEST_CASE("a revoked partition is committed to Kafka, waited for, given up and let go, in this order") {
  ConsumerFixture fixture;
  settle(fixture, {at_seven()});
  fixture.arrive({7});
  fixture.idle();
  fixture.arrive({8});
  static_cast<void>(fixture.take());
  fixture.revoked();
  CHECK(fixture.take() == Lines{"kafka o0@8 waited", "give up o0@8/1", "forget all", "unassign"});
  fixture.idle();
  CHECK(fixture.take().empty());
}

TEST_CASE("of a lost partition Kafka is told nothing") {
  ConsumerFixture fixture;
  settle(fixture, {at_seven()});
  fixture.arrive({7});
  fixture.idle();
  static_cast<void>(fixture.take());
  fixture.revoked(true);
  CHECK(fixture.take() == Lines{"give up o0@8/1", "forget all", "unassign"});
}

TEST_CASE("what arrives late for a partition that is gone is dropped") {
  ConsumerFixture fixture;
  settle(fixture, {at_seven()});
  fixture.revoked();
  static_cast<void>(fixture.take());
  fixture.arrive({7});
  fixture.end_reached(20);
  fixture.step(event::OutOfRange{{"o", 0}, "Offset out of range"});
  fixture.step(event::KafkaCommitFailed{{"o", 0}, 7, "UNKNOWN_MEMBER_ID"});
  fixture.idle();
  CHECK(fixture.take() == Lines{"forget o0@7"});
}

TEST_CASE("a revocation that comes inside a batch ends it with what was applied, and nothing more is") {
  ConsumerFixture fixture;
  settle(fixture, {at_seven()});
  fixture.revoke_inside = 7;
  fixture.arrive({7, 8});
  fixture.idle();
  CHECK(fixture.take() == Lines{"begin", "apply o0@7 #1", "close o0:7>8", "forget o0@7", "kafka o0@8 waited",
                                "give up o0@8/1", "forget all", "unassign"});
}

TEST_CASE("a revocation during the look at the positions ends that round, and late answers count no more") {
  ConsumerFixture fixture;
  fixture.places.insert_or_assign({"o", 0}, at_seven());
  fixture.silent = true;
  fixture.step(event::Assigned{{{"o", 0}}});
  CHECK(fixture.take() == Lines{"load o0"});
  fixture.revoked();
  fixture.step(event::PositionsLoaded{1, {{.place = {"o", 0}, .high = 9}}});
  CHECK(fixture.take() == Lines{"forget all", "unassign"});
  fixture.step(event::Taken{1, {{{"o", 0}, 7, true, 4, false}}});
  CHECK(fixture.take() == Lines{"give up o0@7/4"});
}

TEST_CASE("a new assignment starts from what store and Kafka say then") {
  ConsumerFixture fixture;
  settle(fixture, {at_seven()});
  fixture.arrive({7, 8});
  fixture.revoked();
  static_cast<void>(fixture.take());
  fixture.assigned({{.stored = 20, .committed = 20}});
  CHECK(fixture.take() == Lines{"load o0", "take o0", "assign o0@20"});
  fixture.arrive({20});
  fixture.idle();
  CHECK(fixture.take({"apply", "close"}) == Lines{"apply o0@20 #1", "close o0:20>21"});
}

TEST_CASE("a stop leaves like a revocation, and then ends") {
  ConsumerFixture fixture;
  settle(fixture, {at_seven()});
  fixture.arrive({7});
  fixture.idle();
  fixture.arrive({8});
  static_cast<void>(fixture.take());
  fixture.stop();
  CHECK(fixture.take() == Lines{"kafka o0@8 waited", "give up o0@8/1", "forget all", "unassign", "stopped"});
  fixture.idle();
  fixture.arrive({9});
  CHECK(fixture.take().empty());
}

TEST_CASE("a stop before anything was assigned ends at once") {
  ConsumerFixture fixture;
  fixture.stop();
  CHECK(fixture.end == "stopped");
}

TEST_CASE("a stop while a message waits for another try leaves its position, and the partition clean") {
  ConsumerFixture fixture;
  settle(fixture, {at_seven()});
  fixture.will_fail(7);
  fixture.arrive({7, 8});
  fixture.idle();
  static_cast<void>(fixture.take());
  fixture.stop();
  CHECK(fixture.take() == Lines{"give up o0@7/1", "forget all", "unassign", "stopped"});
}

TEST_CASE("a drain ends when every partition was read to the end it had") {
  ConsumerFixture fixture(drain());
  fixture.assigned({at_seven(9), {.place = {"o", 1}, .stored = 3, .committed = 3, .high = 3}});
  fixture.arrive({7});
  fixture.idle();
  CHECK_FALSE(fixture.ended());
  fixture.arrive({8, 9});
  fixture.idle();
  CHECK(fixture.end == "stopped");
}

TEST_CASE("a drain of partitions that are at their end already ends with the assignment") {
  ConsumerFixture fixture(drain());
  fixture.assigned({at_seven(7)});
  CHECK(fixture.end == "stopped");
}

TEST_CASE("a drain of an empty assignment ends once the group has given it") {
  ConsumerFixture fixture(drain());
  fixture.advance(1s);
  CHECK_FALSE(fixture.ended());
  fixture.assigned({});
  CHECK(fixture.take() == Lines{"assign", "forget all", "unassign", "stopped"});
}

TEST_CASE("a drain counts control records at the end as read") {
  ConsumerFixture fixture(drain());
  fixture.assigned({at_seven(9)});
  fixture.arrive({7});
  fixture.idle();
  CHECK_FALSE(fixture.ended());
  fixture.end_reached(9);
  fixture.idle();
  CHECK(fixture.end == "stopped");
}

TEST_CASE("a drain waits for messages that are to be tried again") {
  ConsumerFixture fixture(drain());
  fixture.assigned({at_seven(8)});
  fixture.will_fail(7);
  fixture.arrive({7});
  fixture.idle();
  CHECK_FALSE(fixture.ended());
  fixture.advance(200ms);
  CHECK(fixture.end == "stopped");
}

TEST_CASE("a drain that loses its partitions starts over with what is assigned, to the end of then") {
  ConsumerFixture fixture(drain());
  fixture.assigned({at_seven(9)});
  fixture.revoked();
  CHECK_FALSE(fixture.ended());
  fixture.assigned({at_seven(20)});
  fixture.arrive({7, 8});
  fixture.idle();
  CHECK(fixture.end == "stopped");
}

TEST_CASE("a drain of a topic that became shorter ends where it ends now") {
  CoreOptions options = drain();
  options.offset_out_of_range = OffsetOutOfRange::earliest;
  ConsumerFixture fixture(options);
  fixture.assigned({at_seven(20)});
  fixture.revoked();
  fixture.assigned({at_seven(3)});
  CHECK_FALSE(fixture.ended());
  fixture.arrive({0, 1, 2});
  fixture.idle();
  CHECK(fixture.end == "stopped");
}

TEST_CASE("a drain with a partition that stands still reads the others to their end, and fails") {
  ConsumerFixture fixture(drain());
  fixture.assigned(
      {{.stored = 1, .committed = 1, .low = 5}, {.place = {"o", 1}, .stored = 3, .committed = 3, .high = 4}});
  CHECK_FALSE(fixture.ended());
  fixture.arrive({"o", 1}, {3});
  fixture.idle();
  REQUIRE(fixture.end);
  CHECK(fixture.end->starts_with("fail " + std::string(to_string(ErrorCode::offset_out_of_range)) + ": o[0]"));
}
