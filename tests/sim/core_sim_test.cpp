#include <cstdlib>
#include <exception>
#include <string>

#include <doctest/doctest.h>

#include "world.hpp"

namespace {

/// TXBOX_SIM_SEED runs that one seed alone, TXBOX_SIM_RUNS another number of them.
std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

TEST_CASE("the core keeps its promises through every kind of trouble") {
  const std::uint64_t only = setting("TXBOX_SIM_SEED", 0);
  const std::uint64_t first = only != 0 ? only : 1;
  const std::uint64_t last = only != 0 ? only : setting("TXBOX_SIM_RUNS", 3'000);
  int failures = 0;
  for (std::uint64_t seed = first; seed <= last && failures < 10; ++seed) {
    try {
      txbox::sim::World world(seed);
      world.run();
    } catch (const std::exception& error) {
      ++failures;
      FAIL_CHECK("seed " << seed << ": " << std::string(error.what()));
    }
  }
  CHECK(failures == 0);
}
