#include <algorithm>

#include <txbox/store/prune_chunk.hpp>

namespace txbox::store {

namespace {
// A step that took so many times the target is followed by a smaller one, whatever it was that took the time.
constexpr int kFarTooLong = 8;
}  // namespace

void PruneChunk::took(std::int64_t done, std::chrono::microseconds work) noexcept {
  if (done <= 0) return;
  const std::int64_t each_us = std::max<std::int64_t>(1, work.count() / done);
  // A small part says little: what every transaction costs would count as its own.
  const bool small_part = 2 * done < size_;
  if (small_part && each_us * size_ < kTarget.count()) return;
  if (!small_part) each_us_[next_++ % each_us_.size()] = each_us;
  // The cheapest of the last few: on a busy machine the others were kept from the processor.
  std::int64_t cheapest_us = each_us;
  for (const std::int64_t known_us : each_us_) {
    if (known_us > 0) cheapest_us = std::min(cheapest_us, known_us);
  }
  std::int64_t next = std::min(kTarget.count() / cheapest_us, size_ + std::max<std::int64_t>(1, size_ / 2));
  if (work > kFarTooLong * kTarget) next = std::min(next, size_ / 2);
  size_ = std::clamp(next, kLeast, kMost);
}

}  // namespace txbox::store
