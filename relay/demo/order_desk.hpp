#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "relay/demo/ledger.hpp"

namespace txbox::relay::demo {

struct OrderDeskOptions {
  std::string db;
  std::string topic;
  std::int64_t orders = 0;
  std::uint64_t seed = 0;
  double orders_per_second = 0;
};

/// The order service of the demo, an application like any other: on a thread of its own it commits each order together
/// with its event, and rolls some back. Counters may be read from any thread; the rest belongs to one thread.
class OrderDesk {
 public:
  /// Makes the file and its tables, so that a relay may start. Places nothing yet.
  explicit OrderDesk(const OrderDeskOptions& options);
  OrderDesk(const OrderDesk&) = delete;
  OrderDesk& operator=(const OrderDesk&) = delete;
  ~OrderDesk();  ///< Stops after the order in hand.

  void open();
  [[nodiscard]] std::int64_t committed() const noexcept { return committed_; }
  [[nodiscard]] std::int64_t rolled_back() const noexcept { return rolled_back_; }
  [[nodiscard]] bool done() const noexcept { return done_; }
  /// Waits for the last order. Throws what ended the thread early.
  const Ledger& close();

 private:
  void serve();

  OrderDeskOptions options_;
  Ledger ledger_;  ///< The thread's until close().
  std::atomic<std::int64_t> committed_ = 0;
  std::atomic<std::int64_t> rolled_back_ = 0;
  std::atomic<bool> done_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  ///< Guarded by mutex_.
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace txbox::relay::demo
