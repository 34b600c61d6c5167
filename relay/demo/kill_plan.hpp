#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include <txbox/base/random.hpp>

namespace txbox::relay::demo {

struct PlannedKill {
  std::int64_t when_done = 0;          ///< Orders that the victim has got through at that moment.
  std::chrono::milliseconds pause{0};  ///< How long nobody does its work afterwards.
};

/// When the relay is to die: spread over the run, never near its end. The same numbers give the same plan.
[[nodiscard]] std::vector<PlannedKill> plan_relay_kills(std::int64_t orders, Random& random);

/// When the consumer is to die: once, or twice where there are orders enough. Few, because a group takes seconds to
/// notice a death and to give the partitions out again.
[[nodiscard]] std::vector<PlannedKill> plan_consumer_kills(std::int64_t orders, Random& random);

}  // namespace txbox::relay::demo
