#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>

#include <doctest/doctest.h>

#include "world.hpp"

namespace {

using txbox::sim::LeftOut;

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Empty when the core kept every promise.
std::string broken_promise(std::uint64_t seed, LeftOut left_out = LeftOut::nothing) {
  try {
    txbox::sim::World world(seed, left_out);
    world.run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace

/// TXBOX_SIM_SEED runs that one seed alone, TXBOX_SIM_RUNS another number of them, and both so many from that seed on.
TEST_CASE("the consumer's core keeps its promises through every kind of trouble") {
  const std::uint64_t chosen = setting("TXBOX_SIM_SEED", 0);
  const std::uint64_t first = chosen != 0 ? chosen : 1;
  const std::uint64_t count = setting("TXBOX_SIM_RUNS", chosen != 0 ? 1 : SIM_SEEDS);
  int failures = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < 10; ++seed) {
    const std::string broken = broken_promise(seed);
    if (broken.empty()) continue;
    ++failures;
    FAIL_CHECK("seed " << seed << ": " << broken);
  }
  CHECK(failures == 0);
}

TEST_CASE("the oracle sees what a store without its guards would do") {
  const auto broken = [](LeftOut left_out) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      if (!broken_promise(seed, left_out).empty()) return true;
    }
    return false;
  };
  CHECK(broken(LeftOut::compare_and_set));
  CHECK(broken(LeftOut::barrier));
}
