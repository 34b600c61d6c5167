#include <txbox/inbox/outcome.hpp>

#include <chrono>

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using txbox::inbox::done;
using txbox::inbox::Outcome;
using txbox::inbox::park;
using txbox::inbox::retry_after;

TEST_CASE("an outcome says what its maker said") {
  CHECK(Outcome().kind() == Outcome::Kind::done);
  CHECK(done == Outcome());
  CHECK(retry_after(5s).kind() == Outcome::Kind::retry_after);
  CHECK(retry_after(5s).delay() == 5000ms);
  CHECK(park("no such account").kind() == Outcome::Kind::park);
  CHECK(park("no such account").reason() == "no such account");
  CHECK(park("a") != park("b"));
}

TEST_CASE("a delay that has passed already is none") { CHECK(retry_after(-1s).delay() == 0ms); }
