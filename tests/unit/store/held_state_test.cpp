#include <doctest/doctest.h>

#include <txbox/store/held_state.hpp>

using txbox::store::held_state_from;
using txbox::store::HeldState;

TEST_CASE("every held state has the word that the schema allows, and back") {
  for (const char* word : {"parked", "blocked", "scheduled", "waiting", "ready", "skipped"}) {
    const auto state = held_state_from(word);
    REQUIRE(state.has_value());
    CHECK(to_string(*state) == word);
  }
  CHECK(held_state_from("ready") == HeldState::ready);
}

TEST_CASE("a word that is no state is nothing") {
  CHECK_FALSE(held_state_from("").has_value());
  CHECK_FALSE(held_state_from("Ready").has_value());
  CHECK_FALSE(held_state_from("sent").has_value());
}
