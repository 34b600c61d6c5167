#include "relay/demo/kill_plan.hpp"

#include <algorithm>

namespace txbox::relay::demo {
namespace {

/// One in the middle half of each of `kills` equal stretches; one more stretch, the last, has none.
std::vector<PlannedKill> spread(std::int64_t orders, std::int64_t kills, Random& random) {
  std::vector<PlannedKill> plan;
  const std::int64_t stretch = orders / (kills + 1);
  for (std::int64_t i = 0; i < kills; ++i) {
    const auto within = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(stretch / 2) + 1));
    plan.push_back({.when_done = std::max<std::int64_t>(1, i * stretch + stretch / 4 + within)});
  }
  return plan;
}

}  // namespace

std::vector<PlannedKill> plan_relay_kills(std::int64_t orders, Random& random) {
  constexpr std::int64_t kKillsMax = 6;
  constexpr std::int64_t kOrdersPerKill = 50;  // Fewer, and a relay would die before it has done anything.
  std::vector<PlannedKill> plan =
      spread(orders, std::clamp<std::int64_t>(orders / kOrdersPerKill, 1, kKillsMax), random);
  for (PlannedKill& kill : plan) kill.pause = std::chrono::milliseconds(50 + random.below(300));
  return plan;
}

std::vector<PlannedKill> plan_consumer_kills(std::int64_t orders, Random& random) {
  constexpr std::int64_t kOrdersForTwo = 500;
  std::vector<PlannedKill> plan = spread(orders, orders < kOrdersForTwo ? 1 : 2, random);
  // The next life joins late enough that the group forgets the dead one before it gives partitions out; else that one
  // would be given some too, and they would lie idle until its session ends.
  for (PlannedKill& kill : plan) kill.pause = std::chrono::milliseconds(2000 + random.below(200));
  return plan;
}

}  // namespace txbox::relay::demo
