#include "relay/demo/kill_plan.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>

using txbox::SeededRandom;
using txbox::relay::demo::plan_kills;

TEST_CASE("the same seed plans the same kills") {
  SeededRandom first(5);
  SeededRandom second(5);
  const auto plan = plan_kills(1500, first);
  const auto again = plan_kills(1500, second);
  REQUIRE(plan.size() == again.size());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    CHECK(plan[i].when_published == again[i].when_published);
    CHECK(plan[i].pause == again[i].pause);
  }
}

TEST_CASE("kills rise, are several, and leave the end of the run alone") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SeededRandom random(seed);
    const auto plan = plan_kills(1500, random);
    REQUIRE(plan.size() >= 3);
    std::int64_t previous = 0;
    for (const auto& kill : plan) {
      CHECK(kill.when_published > previous);
      CHECK(kill.pause.count() > 0);
      previous = kill.when_published;
    }
    CHECK(previous <= 1500 * 9 / 10);
  }
}

TEST_CASE("even the shortest run has its kill") {
  for (const std::int64_t orders : {1, 2, 10, 49}) {
    SeededRandom random(1);
    const auto plan = plan_kills(orders, random);
    REQUIRE(plan.size() == 1);
    CHECK(plan[0].when_published >= 1);
    CHECK(plan[0].when_published <= orders);
  }
}
