#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace txbox::relay {

/// How long something took, as Prometheus counts it: so many in each bucket, and the sum. Plain numbers; copy it to
/// hand it to another thread.
class DurationHistogram {
 public:
  using Duration = std::chrono::microseconds;
  /// From the wait for a lock (a fraction of a millisecond) to a row that lay through an outage.
  static constexpr std::array<Duration, 17> kBounds{
      Duration(250),         Duration(1'000),        Duration(2'500),      Duration(5'000),      Duration(10'000),
      Duration(25'000),      Duration(50'000),       Duration(100'000),    Duration(250'000),    Duration(500'000),
      Duration(1'000'000),   Duration(2'500'000),    Duration(10'000'000), Duration(30'000'000), Duration(60'000'000),
      Duration(300'000'000), Duration(3'600'000'000)};

  void add(Duration took) noexcept {
    // A clock that was set back must not make the sum fall.
    took = std::max(took, Duration::zero());
    const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), took);
    ++counts_[static_cast<std::size_t>(bound - kBounds.begin())];
    ++count_;
    sum_ += took;
  }
  /// Of the bucket that ends at kBounds[index] and begins after the one before; the last one has no end.
  [[nodiscard]] std::uint64_t in_bucket(std::size_t index) const noexcept { return counts_[index]; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] Duration sum() const noexcept { return sum_; }

 private:
  std::array<std::uint64_t, kBounds.size() + 1> counts_{};
  std::uint64_t count_ = 0;
  Duration sum_{};
};

}  // namespace txbox::relay
