#include <doctest/doctest.h>

#include "core_fixture.hpp"

using namespace txbox;
using namespace txbox::test;
using namespace txbox::inbox;
using namespace txbox::inbox::consumer;
using namespace std::chrono_literals;

namespace {

const Lines kGroupWords = {"take", "assign", "kafka", "stopped", "fail"};
const std::string kForeign = "txbox1:store-b:4";

/// What one assignment of one partition asks for.
Lines start_of(ConsumerFixture& fixture, const TestPlace& place) {
  fixture.assigned({place});
  return fixture.take(kGroupWords);
}

CoreOptions with(GroupReset reset) {
  CoreOptions options;
  options.group_reset = reset;
  return options;
}

}  // namespace

TEST_CASE("a partition starts where the database stands") {
  ConsumerFixture fixture;
  CHECK(start_of(fixture, {.stored = 7, .committed = 5}) == Lines{"take o0", "assign o0@7", "kafka o0@7"});
}

TEST_CASE("a partition of which Kafka has no offset starts where the database stands") {
  ConsumerFixture fixture;
  CHECK(start_of(fixture, {.stored = 7}) == Lines{"take o0", "assign o0@7", "kafka o0@7"});
  CHECK(fixture.said("made anew"));
}

TEST_CASE("before Kafka is told for the first time it is not missed") {
  ConsumerFixture fixture;
  CHECK(start_of(fixture, {.stored = 7, .low = 7}) == Lines{"take o0", "assign o0@7", "kafka o0@7"});
  CHECK(fixture.words.empty());
}

TEST_CASE("an offset of this very store above the database is an older copy: said, and Kafka is told first") {
  ConsumerFixture fixture;
  CHECK(start_of(fixture, {.stored = 7, .committed = 9}) == Lines{"take o0", "kafka o0@7 waited", "assign o0@7"});
  CHECK(fixture.said("older copy of itself"));
}

TEST_CASE("an offset of this store in an earlier incarnation is its own") {
  ConsumerFixture fixture;
  CHECK(start_of(fixture, {.stored = 7, .committed = 7, .metadata = "txbox1:store-a:0"}) ==
        Lines{"take o0", "assign o0@7"});
}

TEST_CASE("a foreign store ends the run, and the error names the ways out") {
  ConsumerFixture fixture;
  const Lines lines = start_of(fixture, {.stored = 7, .committed = 5, .metadata = kForeign});
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("fail " + std::string(to_string(ErrorCode::foreign_store))));
  CHECK(lines[0].find("store-b") != std::string::npos);
  CHECK(lines[0].find("static partitions") != std::string::npos);
  CHECK(lines[0].find("take_over") != std::string::npos);
  CHECK(lines[0].find("earlier events are not applied") != std::string::npos);
  CHECK(lines[0].find("kafka-consumer-groups --bootstrap-server HOST:PORT --delete --group billing") !=
        std::string::npos);
}

TEST_CASE("a foreign store ends the run also where the database has no position") {
  ConsumerFixture fixture;
  CHECK(start_of(fixture, {.committed = 5, .metadata = kForeign})[0].starts_with("fail"));
}

TEST_CASE("take_over goes on where the database stands, else where Kafka does, and writes this store's uuid") {
  CoreOptions options;
  options.foreign_store = ForeignStore::take_over;
  SUBCASE("the database has a position") {
    ConsumerFixture fixture(options);
    CHECK(start_of(fixture, {.stored = 7, .committed = 5, .metadata = kForeign}) ==
          Lines{"take o0", "kafka o0@7 waited", "assign o0@7"});
  }
  SUBCASE("it has none") {
    ConsumerFixture fixture(options);
    CHECK(start_of(fixture, {.committed = 5, .metadata = kForeign}) ==
          Lines{"take o0=5", "kafka o0@5 waited", "assign o0@5"});
  }
}

TEST_CASE("a person's reset is ignored: said once, and the database's position is committed again") {
  ConsumerFixture fixture(with(GroupReset::ignore));
  fixture.kafka_takes_commits = false;
  fixture.assigned({{.stored = 7, .committed = 2, .metadata = ""}});
  CHECK(fixture.take(kGroupWords) == Lines{"take o0", "kafka o0@7 waited"});
  fixture.kafka_takes_commits = true;
  fixture.advance(10s);
  CHECK(fixture.take(kGroupWords) == Lines{"take o0", "kafka o0@7 waited", "assign o0@7"});
  CHECK(fixture.times_said("and decides") == 1);
}

TEST_CASE("a person's reset is followed: store, then Kafka, then the first message, then it is settled") {
  ConsumerFixture fixture(with(GroupReset::follow));
  CHECK(start_of(fixture, {.stored = 7, .committed = 2, .metadata = "by hand"}) ==
        Lines{"take o0=2 reset 2", "kafka o0@2 waited", "take o0 reset -1", "assign o0@2"});
  CHECK(fixture.said("and follows"));
}

TEST_CASE("a reset that was followed in an earlier life is not followed again") {
  ConsumerFixture fixture(with(GroupReset::follow));
  CHECK(start_of(fixture, {.stored = 4, .reset_to = 2, .committed = 2, .metadata = ""}) ==
        Lines{"take o0", "kafka o0@4 waited", "take o0 reset -1", "assign o0@4"});
  CHECK_FALSE(fixture.said("and follows"));
}

TEST_CASE("a reset to the same offset as the last one is a new one") {
  ConsumerFixture fixture(with(GroupReset::follow));
  CHECK(start_of(fixture, {.stored = 4, .reset_to = -1, .committed = 2, .metadata = ""}) ==
        Lines{"take o0=2 reset 2", "kafka o0@2 waited", "take o0 reset -1", "assign o0@2"});
}

TEST_CASE("a reset that Kafka was told of counts as settled at the next load") {
  ConsumerFixture fixture(with(GroupReset::follow));
  CHECK(start_of(fixture, {.stored = 4, .reset_to = 2, .committed = 4}) == Lines{"take o0 reset -1", "assign o0@4"});
}

TEST_CASE("a partition that the database does not know starts at the group's offset") {
  ConsumerFixture fixture;
  CHECK(start_of(fixture, {.committed = 5, .metadata = ""}) ==
        Lines{"take o0=5 reset 5", "kafka o0@5 waited", "take o0 reset -1", "assign o0@5"});
  CHECK(fixture.said("starting at the group's offset in Kafka, 5"));
}

TEST_CASE("a partition that nobody knows starts as no_committed_offset says, and it is said") {
  CoreOptions options;
  SUBCASE("earliest") {
    ConsumerFixture fixture(options);
    CHECK(start_of(fixture, {.low = 3}) == Lines{"take o0=3", "assign o0@3", "kafka o0@3"});
    CHECK(fixture.said("starting at the earliest record, 3"));
  }
  SUBCASE("latest") {
    options.no_committed_offset = NoCommittedOffset::latest;
    ConsumerFixture fixture(options);
    CHECK(start_of(fixture, {.low = 3}) == Lines{"take o0=100", "assign o0@100", "kafka o0@100"});
  }
  SUBCASE("stop") {
    options.no_committed_offset = NoCommittedOffset::stop;
    ConsumerFixture fixture(options);
    CHECK(start_of(fixture, {})[0].starts_with("fail " + std::string(to_string(ErrorCode::offset_out_of_range))));
  }
}

TEST_CASE("a position that is not in the topic stands still, and the others go on") {
  ConsumerFixture fixture;
  fixture.assigned({{.stored = 7, .low = 9}, {.place = {"o", 1}, .stored = 3, .committed = 3}});
  CHECK(fixture.take(kGroupWords) == Lines{"take o1", "assign o1@3"});
  CHECK(fixture.times_said("stands still") == 1);
  CHECK(fixture.core.status().standing_still == 1);
  fixture.arrive({"o", 1}, {3});
  fixture.idle();
  CHECK(fixture.take({"apply"}) == Lines{"apply o1@3 #1"});
}

TEST_CASE("a position that is not in the topic goes where the policy says, and Kafka is told first") {
  CoreOptions options;
  options.offset_out_of_range = OffsetOutOfRange::earliest;
  SUBCASE("earliest, passed by retention") {
    ConsumerFixture fixture(options);
    CHECK(start_of(fixture, {.stored = 7, .committed = 7, .low = 9}) ==
          Lines{"take o0=9", "kafka o0@9 waited", "assign o0@9"});
    CHECK(fixture.said("what stood between is not applied"));
  }
  SUBCASE("latest, beyond the end of a topic that was made anew") {
    options.offset_out_of_range = OffsetOutOfRange::latest;
    ConsumerFixture fixture(options);
    CHECK(start_of(fixture, {.stored = 700, .committed = 700, .low = 0, .high = 5}) ==
          Lines{"take o0=5", "kafka o0@5 waited", "assign o0@5"});
  }
}

TEST_CASE("the ends of the topic are in range") {
  ConsumerFixture fixture;
  fixture.assigned({{.stored = 5, .committed = 5, .low = 5, .high = 9},
                    {.place = {"o", 1}, .stored = 9, .committed = 9, .low = 5, .high = 9}});
  CHECK(fixture.take(kGroupWords) == Lines{"take o0 o1", "assign o0@5 o1@9"});
}

TEST_CASE("Kafka's answer that the position is out of range leads to a look at the topic") {
  CoreOptions options;
  options.offset_out_of_range = OffsetOutOfRange::earliest;
  ConsumerFixture fixture(options);
  fixture.assigned({{.stored = 7, .committed = 7}});
  fixture.places.at({"o", 0}).low = 20;
  static_cast<void>(fixture.take());
  fixture.step(event::OutOfRange{{"o", 0}, "Offset out of range"});
  CHECK(fixture.take() == Lines{"pause o0", "give up o0@7/1", "forget all", "load o0", "take o0=20",
                                "kafka o0@20 waited", "assign o0@20"});
}

TEST_CASE("a broker or a lock in the way is tried again with back-off, and said once") {
  ConsumerFixture fixture;
  fixture.load_failures = {"broker", "broker"};
  fixture.take_failures = {"locked"};
  fixture.assigned({{.stored = 7, .committed = 7}});
  CHECK(fixture.take() == Lines{"load o0"});
  CHECK(fixture.core.next_tick() > fixture.steady);
  for (int times = 0; times < 3; ++times) fixture.advance(5s);
  CHECK(fixture.take() == Lines{"load o0", "load o0", "take o0", "load o0", "take o0", "assign o0@7"});
  CHECK(fixture.times_said("broker") == 1);
}

TEST_CASE("a position that moved between the look and the taking is looked at again") {
  ConsumerFixture fixture;
  fixture.moved[{"o", 0}] = 9;
  fixture.assigned({{.stored = 7, .committed = 7}});
  CHECK(fixture.take() == Lines{"load o0", "take o0", "give up o0@9/2"});
  fixture.advance(1s);
  CHECK(fixture.take(kGroupWords) == Lines{"take o0", "assign o0@9", "kafka o0@9"});
}

TEST_CASE("a first position is not set over one that somebody else stored in the meantime") {
  ConsumerFixture fixture;
  fixture.moved[{"o", 0}] = 9;
  fixture.assigned({{.committed = 5}});
  CHECK(fixture.take() == Lines{"load o0", "take o0=5"});
  fixture.advance(1s);
  CHECK(fixture.take({"assign"}) == Lines{"assign o0@9"});
  CHECK(fixture.places.at({"o", 0}).stored == 9);
}

TEST_CASE("a reset is not followed again after another consumer followed it, also where it is at the same offset") {
  ConsumerFixture fixture(with(GroupReset::follow));
  fixture.moved[{"o", 0}] = 7;
  fixture.assigned({{.stored = 7, .committed = 2, .metadata = ""}});
  CHECK(fixture.take() == Lines{"load o0", "take o0=2 reset 2"});
  CHECK(fixture.places.at({"o", 0}).stored == 7);
}

TEST_CASE("a position that another consumer set to the same offset first is that consumer's, and looked at again") {
  ConsumerFixture fixture(with(GroupReset::follow));
  fixture.moved[{"o", 0}] = 2;
  fixture.assigned({{.stored = 7, .committed = 2, .metadata = ""}});
  CHECK(fixture.take() == Lines{"load o0", "take o0=2 reset 2"});
}

TEST_CASE("a partition whose leader does not answer is asked for again, and the others go on") {
  CoreOptions options;
  options.drain = true;
  ConsumerFixture fixture(options);
  const Place silent{"o", 1};
  fixture.without_leader = {silent};
  fixture.assigned(
      {{.stored = 7, .committed = 7, .high = 8}, {.place = silent, .stored = 3, .committed = 3, .high = 3}});
  CHECK(fixture.take({"load", "take", "assign"}) == Lines{"load o0 o1", "take o0", "assign o0@7"});
  CHECK(fixture.times_said("o[1]: its leader does not answer") == 1);
  fixture.arrive({7});
  fixture.idle();
  CHECK(fixture.take({"apply"}) == Lines{"apply o0@7 #1"});
  CHECK_FALSE(fixture.ended());
  fixture.advance(2s);
  CHECK(fixture.take({"load", "take", "assign"}) == Lines{"load o1"});
  fixture.without_leader.clear();
  CHECK(fixture.core.next_tick() <= fixture.steady + 4s);
  fixture.advance(4s);
  CHECK(fixture.take({"load", "take", "assign"}) == Lines{"load o1", "load o0 o1", "take o0 o1", "assign o0@8 o1@3"});
  CHECK(fixture.times_said("o[1]: its leader does not answer") == 1);
  CHECK(fixture.ended());
}

TEST_CASE("an empty assignment is answered") {
  ConsumerFixture fixture;
  fixture.assigned({});
  CHECK(fixture.take() == Lines{"assign"});
}
