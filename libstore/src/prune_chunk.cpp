#include <algorithm>

#include <txbox/store/prune_chunk.hpp>

namespace txbox::store {

void PruneChunk::took(std::int64_t done, std::chrono::microseconds held) noexcept {
  if (done <= 0) return;
  const std::int64_t each_us = std::max<std::int64_t>(1, held.count() / done);
  const std::int64_t fitting = kTarget.count() / each_us;
  // Down at once, since an application waits; up by half at a time, and never on the word of a small part.
  if (fitting > size_ && 2 * done < size_) return;
  size_ = std::clamp(std::min(fitting, size_ + std::max<std::int64_t>(1, size_ / 2)), kLeast, kMost);
}

}  // namespace txbox::store
