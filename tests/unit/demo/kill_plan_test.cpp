#include "relay/demo/kill_plan.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

using txbox::SeededRandom;
using txbox::relay::demo::plan_consumer_kills;
using txbox::relay::demo::plan_relay_kills;
using txbox::relay::demo::PlannedKill;

namespace {

void check_rising(const std::vector<PlannedKill>& plan, std::int64_t orders) {
  std::int64_t previous = 0;
  for (const PlannedKill& kill : plan) {
    CHECK(kill.when_done > previous);
    CHECK(kill.pause.count() > 0);
    previous = kill.when_done;
  }
  CHECK(previous <= orders * 9 / 10);
}

}  // namespace

TEST_CASE("the same seed plans the same kills") {
  SeededRandom first(5);
  SeededRandom second(5);
  for (const auto plan_kills : {plan_relay_kills, plan_consumer_kills}) {
    const auto plan = plan_kills(1500, first);
    const auto again = plan_kills(1500, second);
    REQUIRE(plan.size() == again.size());
    for (std::size_t i = 0; i < plan.size(); ++i) {
      CHECK(plan[i].when_done == again[i].when_done);
      CHECK(plan[i].pause == again[i].pause);
    }
  }
}

TEST_CASE("kills rise, are several, and leave the end of the run alone") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SeededRandom random(seed);
    const auto relay = plan_relay_kills(1500, random);
    CHECK(relay.size() >= 3);
    check_rising(relay, 1500);
    const auto consumer = plan_consumer_kills(1500, random);
    CHECK(consumer.size() == 2);
    check_rising(consumer, 1500);
  }
}

TEST_CASE("even the shortest run kills each of them once") {
  for (const std::int64_t orders : {1, 2, 10, 49}) {
    for (const auto plan_kills : {plan_relay_kills, plan_consumer_kills}) {
      SeededRandom random(1);
      const auto plan = plan_kills(orders, random);
      REQUIRE(plan.size() == 1);
      CHECK(plan[0].when_done >= 1);
      CHECK(plan[0].when_done <= orders);
    }
  }
}
