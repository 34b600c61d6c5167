#pragma once

#include <chrono>

#include <txbox/base/random.hpp>

namespace txbox {

/// Bounded exponential back-off with full jitter in its upper half: doubling from `first` to `most`.
struct Backoff {
  std::chrono::milliseconds first;
  std::chrono::milliseconds most;
  /// The wait before try number `attempt` (0 is the first repeat). A pure function of its arguments.
  [[nodiscard]] std::chrono::milliseconds wait(unsigned attempt, Random& random) const;
};

}  // namespace txbox
