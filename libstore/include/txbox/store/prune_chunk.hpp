#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace txbox::store {

/// How much one transaction of retention takes, so that its work keeps whoever waits for the write lock for about
/// `target`: what a row or a page costs depends on the machine, on the size of the payloads and on what is cached.
/// What a commit costs by itself (a sync, perhaps) is none of its business: smaller transactions would only make more
/// of them. Pure.
class PruneChunk {
 public:
  explicit PruneChunk(std::int64_t first) noexcept : size_(first) {}

  static constexpr std::chrono::microseconds kTarget{2'000};
  static constexpr std::int64_t kLeast = 4;
  static constexpr std::int64_t kMost = 2'000;

  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// `done` of them were deleted in so long, from the begin of the transaction to before its commit.
  void took(std::int64_t done, std::chrono::microseconds work) noexcept;

 private:
  std::int64_t size_;
  std::array<std::int64_t, 3> each_us_{};  ///< What one of them cost in the last steps; 0: not known.
  std::size_t next_ = 0;
};

}  // namespace txbox::store
