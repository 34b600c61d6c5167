#include "relay/engine/wake_watch.hpp"

#include <doctest/doctest.h>

namespace txbox::relay {

namespace {
using namespace std::chrono_literals;
const SteadyTime kStart{100s};
}  // namespace

TEST_CASE("nothing is looked at before a file was touched") {
  const WakeWatch watch(5);
  CHECK(watch.next_look() == SteadyTime::max());
}

TEST_CASE("a commit that becomes visible after its event is found by a later look") {
  WakeWatch watch(5);
  watch.touched(kStart);
  CHECK(watch.next_look() == kStart);
  CHECK_FALSE(watch.look(kStart, 5));
  const SteadyTime second = watch.next_look();
  CHECK(second > kStart);
  CHECK(second <= kStart + 1ms);
  const auto verdict = watch.look(second, 6);
  REQUIRE(verdict);
  CHECK(verdict->changed_by_others);
}

TEST_CASE("looks go on for as long as a slow disk syncs, and end when nothing comes") {
  WakeWatch watch(5);
  watch.touched(kStart);
  int looks = 0;
  SteadyTime last = kStart;
  while (watch.next_look() != SteadyTime::max()) {
    last = watch.next_look();
    CHECK_FALSE(watch.look(last, 5));
    REQUIRE(++looks < 20);
  }
  CHECK(looks > 3);
  CHECK(last - kStart > 100ms);
  CHECK(last - kStart < 250ms);
}

TEST_CASE("a second commit behind the first is found although both events were read at once") {
  WakeWatch watch(5);
  watch.touched(kStart);
  REQUIRE(watch.look(kStart, 6));
  const SteadyTime next = watch.next_look();
  REQUIRE(next != SteadyTime::max());
  CHECK(watch.look(next, 7));
}

TEST_CASE("a move beside the relay's own mark wakes at once, and counts as others' within a second") {
  WakeWatch watch(5);
  watch.touched(kStart);
  REQUIRE(watch.look(kStart, 6)->changed_by_others);
  watch.touched(kStart + 10ms);
  watch.writing();
  watch.written();
  const auto own = watch.look(kStart + 10ms, 7);
  REQUIRE(own);
  CHECK_FALSE(own->changed_by_others);
  SteadyTime told{};
  for (int looks = 0; looks < 30 && told == SteadyTime{}; ++looks) {
    REQUIRE(watch.next_look() != SteadyTime::max());
    const SteadyTime now = watch.next_look();
    const auto verdict = watch.look(now, 7);
    if (verdict && verdict->changed_by_others) told = now;
  }
  CHECK(told - kStart >= 500ms);
  CHECK(told - kStart <= 600ms);
}

TEST_CASE("a mark whose answer is still under way is not taken for another's commit") {
  WakeWatch watch(5);
  watch.writing();
  watch.touched(kStart);
  const auto early = watch.look(kStart, 6);
  REQUIRE(early);
  CHECK_FALSE(early->changed_by_others);
}

TEST_CASE("a commit of another's after a mark that was seen before its answer is known at once") {
  WakeWatch watch(5);
  watch.writing();
  watch.touched(kStart);
  REQUIRE(watch.look(kStart, 6));
  watch.written();
  watch.touched(kStart + 100ms);
  const auto person = watch.look(kStart + 100ms, 7);
  REQUIRE(person);
  CHECK(person->changed_by_others);
  // The same again, with the answer before the look.
  watch.writing();
  watch.written();
  watch.touched(kStart + 200ms);
  CHECK_FALSE(watch.look(kStart + 200ms, 8)->changed_by_others);
  watch.touched(kStart + 300ms);
  CHECK(watch.look(kStart + 300ms, 9)->changed_by_others);
}

}  // namespace txbox::relay
