#pragma once

#include <cstdint>
#include <memory>

#include <txbox/store/connection.hpp>

namespace txbox::store {

struct PruneLimits {
  std::int64_t sent_before_ms = 0;     ///< Rows whose receipt is older may go.
  std::int64_t skipped_before_ms = 0;  ///< Skipped rows created before may go; 0 keeps them all.
  std::int64_t rows = 500;             ///< Looked at in one transaction: a few ms of write lock.
};

struct PruneStep {
  std::int64_t deleted = 0;
  bool more = false;  ///< Another step may find some.
};

/// Deletes rows that Kafka has, each together with its receipt, and skipped rows. It can touch nothing else: only
/// id < max(id) (ids rise because the newest row stays) and id <= settled_through, with a receipt whose nonce
/// fits. Works in steps so that writers wait a few ms at most, and may be left between any two. Single-threaded.
/// The connection's triggers are off during a step only. Errors as OutboxMarker.
class OutboxPruner {
 public:
  explicit OutboxPruner(Connection& connection);
  OutboxPruner(const OutboxPruner&) = delete;
  OutboxPruner& operator=(const OutboxPruner&) = delete;
  ~OutboxPruner();

  /// One transaction. A walk goes from the oldest receipt on; it ends at the first step in which every receipt was too
  /// young, since receipts are nearly in the order of time, and the next step begins a new walk.
  PruneStep step(const PruneLimits& limits);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::store
