#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace txbox::relay::demo {

/// A number that the consumer raises with each order it applies, in a file that both processes map: it outlives a
/// SIGKILL and knows nothing of transactions, so that the effects which died with a process can be counted. Any thread.
class HandlerTally {
 public:
  /// Makes the file where it is missing. Throws Error(failure).
  explicit HandlerTally(const std::string& path);
  HandlerTally(const HandlerTally&) = delete;
  HandlerTally& operator=(const HandlerTally&) = delete;
  ~HandlerTally();

  void add() noexcept { count_->fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t count() const noexcept { return count_->load(std::memory_order_relaxed); }

 private:
  using Count = std::atomic<std::int64_t>;
  static_assert(Count::is_always_lock_free, "a lock would be one for each process");
  Count* count_ = nullptr;
};

}  // namespace txbox::relay::demo
