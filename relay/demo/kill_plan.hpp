#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include <txbox/base/random.hpp>

namespace txbox::relay::demo {

struct PlannedKill {
  std::int64_t when_published = 0;     ///< Orders that Kafka holds at that moment.
  std::chrono::milliseconds pause{0};  ///< How long nobody publishes afterwards.
};

/// When the relay is to die: spread over the run, never near its end. The same numbers give the same plan.
[[nodiscard]] std::vector<PlannedKill> plan_kills(std::int64_t orders, Random& random);

}  // namespace txbox::relay::demo
