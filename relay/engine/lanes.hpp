#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <txbox/store/lane.hpp>
#include <txbox/store/outbox_reader.hpp>

#include "relay/engine/core.hpp"

namespace txbox::relay {

/// A lane about which there is something to remember. An ordinary lane (open, in the main producer) has no entry,
/// so that the happy path costs no memory whatever the number of keys.
struct LaneEntry {
  bool closed = false;
  std::int64_t closed_from = 0;  ///< Rows above this id wait; rows below were there before what closed the lane.
  /// What closed the lane is known to stand before all that is read next. Otherwise (closed by a load, where the
  /// held row may be a later one) a row that was blocked needs command::ReleaseLane to find out.
  bool certain = false;
  bool release_queued = false;
  bool release_again = false;        ///< Wanted once more while a release is under way, which may not see everything.
  bool release_after_holds = false;  ///< SQL said clear, but holds were still on their way there.
  std::int64_t held = 0;             ///< As last loaded from SQL.
  bool touched = false;              ///< Own marks changed it since that load.
  std::int32_t pending_holds = 0;    ///< Holds of the lane that are not yet marked.
  std::uint64_t confirmed_at = 0;    ///< Step number of the last Marked with a hold of it.
  std::uint64_t seen_at = 0;         ///< Step number when the scan last met a held row of it.

  ProducerKind producer = ProducerKind::main;
  bool to_probation = false;  ///< Moves when the main producer is rebuilt: each of its rows is settled then.
  std::int32_t suspects = 0;
  std::int32_t in_flight = 0;  ///< In the probation producer only.
  bool deferred = false;       ///< The scan passed rows of it that are still to be handed over.

  [[nodiscard]] bool idle() const noexcept {
    return !closed && producer == ProducerKind::main && !to_probation && suspects == 0 && in_flight == 0 &&
           pending_holds == 0;
  }
};

/// The entries of one database. Single-threaded; never iterated in hash order, so that a run is repeatable.
class LaneTable {
 public:
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] LaneEntry* find(store::Lane lane) noexcept {
    if (entries_.empty()) return nullptr;
    const auto found = entries_.find(lane);
    return found == entries_.end() ? nullptr : &found->second;
  }
  LaneEntry& entry(store::Lane lane) { return entries_[lane]; }
  /// Forgets a lane about which nothing is left to say.
  void forget_if_idle(store::Lane lane) {
    const auto found = entries_.find(lane);
    if (found != entries_.end() && found->second.idle()) entries_.erase(found);
  }
  /// All lanes, sorted: for rare events.
  [[nodiscard]] std::vector<store::Lane> sorted() const;

  [[nodiscard]] std::int64_t closed_count() const noexcept { return closed_; }
  void close(store::Lane lane, std::int64_t from, bool certain);
  void open(store::Lane lane);

 private:
  std::unordered_map<store::Lane, LaneEntry> entries_;
  std::int64_t closed_ = 0;
};

}  // namespace txbox::relay
