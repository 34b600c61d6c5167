#include <doctest/doctest.h>

#include <txbox/base/backoff.hpp>

using namespace std::chrono_literals;

TEST_CASE("back-off doubles up to its bound and stays in the upper half") {
  const txbox::Backoff backoff{.first = 100ms, .most = 1000ms};
  txbox::SeededRandom random(1);
  for (unsigned attempt = 0; attempt < 100; ++attempt) {
    const auto ceiling = attempt >= 4 ? 1000ms : 100ms * (1 << attempt);
    const auto wait = backoff.wait(attempt, random);
    CHECK(wait >= ceiling / 2);
    CHECK(wait <= ceiling);
  }
}

TEST_CASE("the same seed gives the same waits") {
  const txbox::Backoff backoff{.first = 1ms, .most = 10s};
  txbox::SeededRandom one(7);
  txbox::SeededRandom two(7);
  for (unsigned attempt = 0; attempt < 20; ++attempt) CHECK(backoff.wait(attempt, one) == backoff.wait(attempt, two));
}
