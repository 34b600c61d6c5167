#include "relay/demo/kill_plan.hpp"

#include <algorithm>

namespace txbox::relay::demo {

std::vector<PlannedKill> plan_kills(std::int64_t orders, Random& random) {
  constexpr std::int64_t kKillsMax = 6;
  constexpr std::int64_t kOrdersPerKill = 50;  // Fewer, and a relay would die before it has done anything.
  const std::int64_t kills = std::clamp<std::int64_t>(orders / kOrdersPerKill, 1, kKillsMax);
  std::vector<PlannedKill> plan;
  for (std::int64_t i = 0; i < kills; ++i) {
    // The i-th of equal stretches, somewhere in its middle half; one more stretch has no kill.
    const std::int64_t stretch = orders / (kills + 1);
    const auto within = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(stretch / 2) + 1));
    plan.push_back({.when_published = std::max<std::int64_t>(1, i * stretch + stretch / 4 + within),
                    .pause = std::chrono::milliseconds(50 + random.below(300))});
  }
  return plan;
}

}  // namespace txbox::relay::demo
