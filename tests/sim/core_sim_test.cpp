#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>

#include <doctest/doctest.h>

#include "world.hpp"

namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Empty when the core kept every promise.
std::string broken_promise(std::uint64_t seed, std::size_t* pruned = nullptr) {
  try {
    txbox::sim::World world(seed);
    world.run();
    if (pruned != nullptr) *pruned += world.pruned();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace

/// TXBOX_SIM_SEED runs that one seed alone, TXBOX_SIM_RUNS another number of them, and both so many from that seed on.
TEST_CASE("the core keeps its promises through every kind of trouble") {
  const std::uint64_t chosen = setting("TXBOX_SIM_SEED", 0);
  const std::uint64_t first = chosen != 0 ? chosen : 1;
  const std::uint64_t count = setting("TXBOX_SIM_RUNS", chosen != 0 ? 1 : SIM_SEEDS);
  int failures = 0;
  std::size_t pruned = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < 10; ++seed) {
    const std::string broken = broken_promise(seed, &pruned);
    if (broken.empty()) continue;
    ++failures;
    FAIL_CHECK("seed " << seed << ": " << broken);
  }
  CHECK(failures == 0);
  // Retention was at work beside all that.
  if (chosen == 0) CHECK(pruned > count);
}

TEST_CASE("seeds that once broke a promise keep it") {
  // Rows for a partition that does not exist were released with their topic for ever.
  CHECK(broken_promise(84'588) == "");
}
