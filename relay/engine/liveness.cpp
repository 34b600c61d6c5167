#include "relay/engine/liveness.hpp"

#include <algorithm>

namespace txbox::relay {

namespace {
std::int64_t number_of(SteadyTime time) noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}
}  // namespace

void Liveness::turned(Loop loop, SteadyTime now) noexcept {
  turned_[static_cast<std::size_t>(loop)].store(number_of(now), std::memory_order_relaxed);
}

void Liveness::rests(Loop loop) noexcept {
  turned_[static_cast<std::size_t>(loop)].store(kRests, std::memory_order_relaxed);
}

std::chrono::nanoseconds Liveness::stillness(SteadyTime now) const noexcept {
  std::int64_t longest = 0;
  for (const std::atomic<std::int64_t>& loop : turned_) {
    const std::int64_t turned = loop.load(std::memory_order_relaxed);
    if (turned != kRests) longest = std::max(longest, number_of(now) - turned);
  }
  return std::chrono::nanoseconds(longest);
}

}  // namespace txbox::relay
