#include "relay/engine/liveness.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using txbox::SteadyTime;
using txbox::relay::Liveness;
using txbox::relay::Loop;

TEST_CASE("loops that have not begun, or that rest, are not stuck") {
  Liveness liveness;
  const SteadyTime start{1h};
  CHECK(liveness.stillness(start) == 0ns);
  liveness.turned(Loop::topic_describer, start);
  CHECK(liveness.stillness(start + 5s) == 5s);
  liveness.rests(Loop::topic_describer);
  CHECK(liveness.stillness(start + 1h) == 0ns);
}

TEST_CASE("the loop that has been still for longest counts, however well the others move") {
  Liveness liveness;
  const SteadyTime start{1h};
  liveness.turned(Loop::store_worker, start);
  for (int second = 1; second <= 40; ++second) liveness.turned(Loop::runner, start + std::chrono::seconds(second));
  CHECK(liveness.stillness(start + 40s) == 40s);
  liveness.turned(Loop::store_worker, start + 41s);
  CHECK(liveness.stillness(start + 41s) == 1s);
}

TEST_CASE("a turn that began after the question is none in the past") {
  Liveness liveness;
  liveness.turned(Loop::runner, SteadyTime{2h});
  CHECK(liveness.stillness(SteadyTime{1h}) == 0ns);
}
