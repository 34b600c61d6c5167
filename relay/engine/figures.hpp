#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <txbox/base/clock.hpp>
#include <txbox/store/outbox_queries.hpp>

#include "relay/engine/broker_trouble.hpp"
#include "relay/engine/core_figures.hpp"

namespace txbox::relay {

/// What the relay shows of itself, as plain values: the runner fills one in every second, and whoever serves it works
/// on that copy. So a request touches neither SQLite nor the loop. What is added here is one line more in
/// relay/metrics/metric_table.cpp.

/// One file, from when the relay was told of it or found it.
struct FileFigures {
  enum class Role : std::uint8_t {
    active,   ///< Served: its lock is held and it is open.
    standby,  ///< Another relay holds it.
    waiting,  ///< Locked by another program, or not ready yet.
    ended,    ///< In doubt: served no longer.
  };

  std::string db;  ///< Its path, as it was given or found.
  Role role = Role::waiting;
  bool by_pattern = false;
  std::string reason;  ///< Why it is not active; for people.

  std::optional<store::OutboxCounts> counts;  ///< Nothing before it was first counted.
  DatabaseFigures counted;
  std::optional<WallTime> last_mark;
  std::int64_t pruned = 0;  ///< Rows that retention deleted, since the start.
  std::optional<WallTime> last_prune;
  std::int64_t wal_bytes = 0;
  std::optional<WallTime> wal_pinned_since;  ///< By a reader with an old snapshot.
};

struct TroubleFigures {
  BrokerTrouble kind = BrokerTrouble::other;
  std::string text;  ///< For people.
  WallTime since{};
};

struct RelayFigures {
  WallTime taken_at{};
  bool connected = false;  ///< A broker of the cluster answered since the start.
  bool stopping = false;
  std::vector<FileFigures> files;

  std::int64_t published = 0;
  std::int64_t in_flight_rows = 0;
  std::int64_t in_flight_bytes = 0;
  std::int64_t producer_rebuilds = 0;
  bool outage = false;
  std::optional<TroubleFigures> trouble;  ///< Until Kafka answers again.
  CoreFigures counted;
  DurationHistogram lock_wait;
};

/// Where the newest figures lie. Any thread.
class FigureBoard {
 public:
  void put(std::shared_ptr<const RelayFigures> figures) {
    const std::lock_guard lock(mutex_);
    figures_.swap(figures);
  }
  /// nullptr before the first ones.
  [[nodiscard]] std::shared_ptr<const RelayFigures> newest() const {
    const std::lock_guard lock(mutex_);
    return figures_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const RelayFigures> figures_;
};

}  // namespace txbox::relay
