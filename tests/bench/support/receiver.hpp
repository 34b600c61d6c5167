#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/support/topic.hpp"

namespace txbox::bench {

/// An independent consumer on a thread of its own that notes when each numbered record (records.hpp) could be read for
/// the first time. It sees what is produced after its construction.
class Receiver {
 public:
  using Time = std::chrono::steady_clock::time_point;
  Receiver(const std::string& brokers, const Topic& topic, std::int64_t records);
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  ~Receiver();

  /// Waits until so many different records have come. Throws when they don't come in time.
  void wait_for(std::int64_t records);
  /// When each record came. REQUIRES: wait_for(all of them) has returned.
  [[nodiscard]] const std::vector<Time>& arrivals() const noexcept { return arrivals_; }

 private:
  void receive();

  Client consumer_;
  std::vector<Time> arrivals_;  ///< The thread's own until all have come.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t received_ = 0;  ///< Guarded by mutex_.
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace txbox::bench
