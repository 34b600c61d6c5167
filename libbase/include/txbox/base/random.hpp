#pragma once

#include <cstdint>

namespace txbox {

/// The seam for randomness: jitter and spreading, nothing secret. Not synchronised.
class Random {
 public:
  virtual ~Random() = default;
  [[nodiscard]] virtual std::uint64_t next() = 0;
  /// Evenly in [0, limit); REQUIRES: limit > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t limit) { return next() % limit; }
};

/// SplitMix64 (Steele, Lea, Flood 2014): small, fast, and the same stream for the same seed everywhere.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) noexcept : state_(seed) {}
  [[nodiscard]] std::uint64_t next() override;

 private:
  std::uint64_t state_;
};

/// A seed from the operating system.
[[nodiscard]] std::uint64_t random_seed();

}  // namespace txbox
