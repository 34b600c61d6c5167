#pragma once

#include <chrono>
#include <cstdint>

namespace txbox::store {

/// How much one transaction of retention takes, so that whoever waits for the write lock waits about `target`:
/// what a row or a page costs depends on the machine, on the size of the payloads and on what is cached. Pure.
class PruneChunk {
 public:
  explicit PruneChunk(std::int64_t first) noexcept : size_(first) {}

  static constexpr std::chrono::microseconds kTarget{3'000};
  static constexpr std::int64_t kLeast = 4;
  static constexpr std::int64_t kMost = 2'000;

  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// `done` of them were deleted, and the lock was held for so long.
  void took(std::int64_t done, std::chrono::microseconds held) noexcept;

 private:
  std::int64_t size_;
};

}  // namespace txbox::store
