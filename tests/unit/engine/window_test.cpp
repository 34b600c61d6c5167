#include <doctest/doctest.h>

#include "relay/engine/window.hpp"

using txbox::relay::SlotState;
using txbox::relay::Window;

TEST_CASE("a window finds rows by id across gaps, and nothing else") {
  Window window;
  window.start_at(10);
  for (const int id : {11, 12, 15, 16, 900'000, 900'001}) window.push(id);
  for (const int id : {11, 12, 15, 16, 900'000, 900'001}) {
    REQUIRE(window.find(id) != nullptr);
    CHECK(window.find(id)->id == id);
  }
  for (const int id : {1, 10, 13, 14, 17, 500'000, 899'999, 900'002}) CHECK(window.find(id) == nullptr);
}

TEST_CASE("a window keeps its rows when its ring wraps and grows") {
  Window window;
  for (std::int64_t id = 1; id <= 5000; ++id) {
    window.push(id).state = SlotState::in_flight;
    if (id > 700) {
      window.find(id - 700)->state = SlotState::sent;
      window.pop_final();
    }
  }
  CHECK(window.size() == 700);
  CHECK(window.settle() == 4300);
  for (std::int64_t id = 4301; id <= 5000; ++id) REQUIRE(window.find(id)->id == id);
  for (std::int64_t id = 5001; id <= 9000; ++id) window.push(id);
  for (std::int64_t id = 4301; id <= 9000; ++id) REQUIRE(window.find(id)->id == id);
  CHECK(window.find(4300) == nullptr);
}

TEST_CASE("a window settles through rows that are final or in a mark under way, and never further") {
  Window window;
  window.push(1).state = SlotState::held;
  window.push(2).state = SlotState::marking;
  window.push(3).state = SlotState::acked;
  window.push(4).state = SlotState::sent;
  CHECK(window.settle() == 2);
  window.find(3)->state = SlotState::hold_marking;
  CHECK(window.settle() == 4);
  window.pop_final();
  CHECK(window.size() == 3);
}

TEST_CASE("the first unsent row is found behind settled and in-flight ones") {
  Window window;
  CHECK(window.first_unsent() == 0);
  window.push(1).state = SlotState::sent;
  window.push(2).state = SlotState::in_flight;
  window.push(5).state = SlotState::unsent;
  window.push(6).state = SlotState::unsent;
  CHECK(window.first_unsent() == 5);
}
