#include "relay/demo/copy_plan.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::vector<std::chrono::milliseconds> copies_of(std::uint64_t seed, int order) {
  const std::string payload = "order " + std::to_string(order);
  return txbox::relay::demo::plan_copies(seed, std::string_view(payload));
}

}  // namespace

TEST_CASE("the same seed and payload are copied alike") {
  for (int i = 0; i < 100; ++i) CHECK(copies_of(7, i) == copies_of(7, i));
}

TEST_CASE("another seed plans other copies") {
  int different = 0;
  for (int i = 0; i < 100; ++i) different += copies_of(7, i) != copies_of(8, i) ? 1 : 0;
  CHECK(different > 50);
}

TEST_CASE("events are copied never, once and twice, about equally often, most of them soon and some late") {
  std::array<int, 3> times{};
  int late = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto copies = copies_of(1, i);
    REQUIRE(copies.size() <= 2);
    ++times[copies.size()];
    for (const auto delay : copies) late += delay.count() > 500 ? 1 : 0;
  }
  for (const int count : times) CHECK(count > 800);
  CHECK(late > 100);
  CHECK(late < 1000);
}
