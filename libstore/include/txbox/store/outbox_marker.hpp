#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <txbox/store/connection.hpp>
#include <txbox/store/held_state.hpp>
#include <txbox/store/lane.hpp>

namespace txbox::store {

struct Receipt {
  std::int64_t id = 0;
  std::uint64_t nonce_prefix = 0;
  std::int32_t partition = 0;
  std::int64_t offset = -1;  ///< -1: Kafka has it, the offset is not known (a duplicate's acknowledgement).
  std::int64_t sent_at_ms = 0;
};

struct Hold {
  std::int64_t id = 0;
  std::uint64_t nonce_prefix = 0;
  HeldState state = HeldState::parked;
  std::optional<Lane> lane;  ///< nullopt: blocks nobody.
  std::int32_t attempts = 0;
  std::optional<std::int64_t> due_at_ms;  ///< For scheduled and waiting.
  std::string last_error;                 ///< Begins with Kafka's error name; empty for none.
};

struct MarkRequest {
  std::span<const Receipt> receipts;
  std::span<const Hold> holds;
  std::int64_t settled_through = 0;  ///< Raised to this only if SQL confirms it (I5).
  std::span<const Lane> lanes;       ///< Lanes to report on in MarkResult::clear_lanes.
};

struct MarkResult {
  std::int64_t settled_through = 0;  ///< As it stands after the transaction.
  std::vector<Lane> clear_lanes;     ///< Of the lanes asked for: those without held, unskipped rows.
};

/// What one step of OutboxMarker::release_topic did.
struct TopicRelease {
  std::int64_t rows = 0;     ///< Made ready.
  std::int64_t through = 0;  ///< The highest id of them; with none, where the step began.
};

/// Writes the relay's notes: receipts, held rows and settled_through, one BEGIN IMMEDIATE transaction a call.
/// Every write is idempotent (I3, I5 hold even if two relays run), so a call that threw may be made again
/// with the same request. Single-threaded, on its own connection of purpose `relay`. Before each write:
/// HAS_MOVED and schema_version. Errors: busy (try again), commit_unknown (try again), disk_full (try again later),
/// moved, corrupt, restored (a receipt's nonce does not match its row), schema_newer, schema_differs, and
/// from the constructor not_installed.
class OutboxMarker {
 public:
  explicit OutboxMarker(Connection& connection);
  OutboxMarker(const OutboxMarker&) = delete;
  OutboxMarker& operator=(const OutboxMarker&) = delete;
  ~OutboxMarker();

  /// Finds or adds the small number under which receipts name a Kafka cluster (its id as Kafka gives it).
  /// Receipts that are written before carry 0: not known.
  void use_cluster(const std::string& kafka_cluster_id);

  /// What a person decided stays: a hold changes no row that is parked or skipped. A note for a row that retention
  /// took meanwhile (another relay had settled it) is passed over.
  MarkResult mark(const MarkRequest& request);

  /// scheduled -> ready where due_at <= now, at most `limit` rows in one transaction. Returns how many.
  std::int64_t release_due(std::int64_t now_ms, std::int64_t limit);
  /// waiting -> ready for one topic above the id `after`, in id order, at most `limit`. To go on, give `through` of the
  /// step before: a row that came to wait again meanwhile is not released by the same walk a second time.
  TopicRelease release_topic(const std::string& topic, std::int64_t after, std::int64_t limit);
  /// blocked -> ready for the rows of a lane before its first parked or waiting row, in id order, at most `limit`; none
  /// while twice as many are ready already: the mark that takes some of those away is the moment to ask again.
  std::int64_t release_lane(Lane lane, std::int64_t limit);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::store
