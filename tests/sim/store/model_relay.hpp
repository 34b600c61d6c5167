#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <txbox/base/random.hpp>

#include "sim/store/model_broker.hpp"
#include "support/relay_store.hpp"

namespace txbox::test {

/// The smallest relay that keeps the rules of marking: it reads, produces, holds and marks through libstore, and all
/// else it knows is memory, which a crash loses. Not the relay's core: it exists to drive the store through
/// interleavings.
class ModelRelay {
 public:
  ModelRelay(const std::string& path, ModelBroker& broker, Random& random);

  void read(std::int64_t now_ms);
  void read_ready();
  /// The broker takes or refuses the row at the head of one lane.
  void deliver();
  /// Writes a part of what is to be noted, or all of it.
  void mark(bool all);
  void release(std::int64_t now_ms);
  [[nodiscard]] bool nothing_in_flight() const noexcept { return queues_.empty(); }

 private:
  struct InFlight {
    std::int64_t id = 0;
    std::uint64_t nonce_prefix = 0;
    std::optional<store::Lane> lane;
    std::string topic;
  };
  /// Rows of a lane follow each other; a row without a lane has a queue of its own.
  using QueueKey = std::pair<bool, std::int64_t>;
  static QueueKey queue_of(const InFlight& row) {
    return row.lane ? QueueKey{true, *row.lane} : QueueKey{false, row.id};
  }

  void produce(const InFlight& row);
  void hold(const InFlight& row, store::HeldState state, std::optional<std::int64_t> due_at_ms = std::nullopt);
  [[nodiscard]] bool is_under_way(std::int64_t id) const;
  [[nodiscard]] bool lane_is_under_way(store::Lane lane) const;
  [[nodiscard]] std::int64_t settled_with(const store::MarkRequest& request) const;
  void forget_written(std::size_t receipts, std::size_t holds);

  RelaySide side_;
  ModelBroker& broker_;
  Random& random_;
  std::int64_t scanned_through_ = 0;
  std::int64_t settled_through_ = 0;
  std::map<QueueKey, std::deque<InFlight>> queues_;
  std::vector<store::Receipt> receipts_;
  std::vector<store::Hold> holds_;
  std::set<store::Lane> closed_;
  std::set<std::int64_t> noted_;  ///< Above settled_through_: rows whose receipt or held row is in the file.
};

}  // namespace txbox::test
