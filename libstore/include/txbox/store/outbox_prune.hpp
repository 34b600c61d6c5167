#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include <txbox/store/connection.hpp>

namespace txbox::store {

struct PruneLimits {
  std::int64_t sent_before_ms = 0;     ///< Rows whose receipt is older may go; 0 keeps them all.
  std::int64_t skipped_before_ms = 0;  ///< Skipped rows created before may go; 0 keeps them all.
  std::int64_t rows = 0;               ///< Looked at in one step; 0: as many as take a few ms of write lock.
};

struct PruneStep {
  std::int64_t deleted = 0;
  std::int64_t pages = 0;  ///< Given back to the file system.
  bool more = false;       ///< Another step may find some.
  /// Once nothing more may go: when the oldest receipt that the walk saw, and that stays, was written.
  std::optional<std::int64_t> oldest_sent_ms;
};

/// Deletes rows that Kafka has, each together with its receipt, and skipped rows. It can touch nothing else: only
/// id < max(id) (ids rise because the newest row stays) and id <= settled_through, with a receipt whose nonce
/// fits. Then gives free pages back where the file has auto_vacuum=INCREMENTAL. Works in steps, so that writers
/// wait a few ms at most, and may be left between any two. Single-threaded. The connection's triggers are off during a
/// step only. Errors as OutboxMarker; after busy the step may be repeated.
class OutboxPruner {
 public:
  explicit OutboxPruner(Connection& connection);
  OutboxPruner(const OutboxPruner&) = delete;
  OutboxPruner& operator=(const OutboxPruner&) = delete;
  ~OutboxPruner();

  /// One write transaction at most; what may go is looked for without the write lock. A walk goes from the oldest
  /// receipt on. Receipts are nearly in the order of time, so it leaves a long stretch of young ones, and goes on
  /// behind it only where one of a few probes finds an old one (rows that were sent late stand among the oldest). The
  /// step in which nothing is left to do says `more` = false, and the next one begins a new walk.
  PruneStep step(const PruneLimits& limits);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::store
