// What a person retries is judged by what holds now.

#include <doctest/doctest.h>

#include "core_fixture.hpp"

using namespace txbox;
using namespace txbox::test;
using namespace txbox::relay;
using namespace std::chrono_literals;

using Ids = std::vector<std::int64_t>;

TEST_CASE("the limits of a topic are read again before a retried row is refused by them") {
  CoreFixture fixture;
  fixture.facts["orders"] = usable_topic(4, 1'000);
  TestRow row{.id = 1, .payload = std::string(2'000, 'x')};
  fixture.read({row});
  CHECK(fixture.take_handed_ids().empty());
  fixture.advance(25ms);
  REQUIRE(fixture.marks.size() == 1);
  CHECK(fixture.marks.front().holds.at(0).state == store::HeldState::parked);
  fixture.marked();
  fixture.advance(10s);  // Within the minute in which nobody would ask.
  row.held = store::HeldState::ready;
  row.held_lane = row.lane();
  fixture.wake(true);
  fixture.advance(300ms);
  SUBCASE("raised") {
    fixture.facts["orders"] = usable_topic(4, 5'000);
    fixture.read_ready({row});
    fixture.advance(50ms);
    fixture.read_ready({row});
    CHECK(fixture.take_handed_ids() == Ids{1});
  }
  SUBCASE("as they were") {
    fixture.read_ready({row});
    fixture.advance(50ms);
    fixture.read_ready({row});
    fixture.advance(25ms);
    CHECK(fixture.take_handed_ids().empty());
    REQUIRE(fixture.all_marks.size() == 2);
    CHECK(fixture.all_marks[1].holds.at(0).state == store::HeldState::parked);
  }
}

TEST_CASE("a retried row that is refused again asks for what stands behind it, once its key is let go") {
  CoreFixture fixture;
  fixture.facts["orders"] = usable_topic(4, 1'000);
  TestRow row{.id = 1, .payload = std::string(2'000, 'x')};
  fixture.read({row, TestRow{.id = 2}});
  fixture.advance(25ms);
  fixture.marked();
  fixture.advance(10s);
  fixture.step(event::RefusalPolicy{OnRefusal::skip});
  row.held = store::HeldState::ready;
  row.held_lane = row.lane();
  fixture.wake(true);
  fixture.advance(300ms);
  fixture.read_ready({row});
  fixture.advance(50ms);
  fixture.read_ready({row});
  fixture.advance(25ms);
  REQUIRE(fixture.all_marks.size() == 2);
  CHECK_FALSE(fixture.all_marks[1].holds.at(0).lane.has_value());
  CHECK(fixture.all_marks[1].lanes == std::vector<store::Lane>{row.lane()});
  fixture.marked();  // Row 2 is still held: it is released.
  CHECK(fixture.take<command::ReleaseLane>().size() == 1);
}
