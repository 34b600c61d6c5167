#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <txbox/store/inbox_store.hpp>
#include <txbox/store/statement.hpp>

#include "store_checks.hpp"
#include "wal_sync.hpp"

namespace txbox::store {

/// What the parts of InboxStore share. The statements of every message are prepared once; those of a rare moment
/// (taking partitions, parking) when it comes.
struct InboxStore::State {
  State(Connection& borrowed, std::string_view consumer_group);

  [[nodiscard]] sqlite3* db() const noexcept { return connection.handle(); }

  /// Throws no_transaction where the batch's transaction is over: what is written then would commit alone.
  void require_batch(std::string_view what) const;
  [[noreturn]] void throw_over(std::string_view what) const;
  /// The first parameters of most statements: group, cluster, topic, partition.
  Statement& bind_place(Statement& statement, const InboxPlace& place) const;
  /// True when a row changed.
  bool changed(Statement& statement) const;

  [[nodiscard]] std::optional<InboxPosition> read_position(const InboxPlace& place);
  bool claim(std::string_view event_id, const Origin& origin, bool parked);
  /// What one claim after the other has in common stays bound.
  void bind_claim_of(std::string_view topic);
  /// A statement about savepoints. Throws no_transaction where the savepoint is not there any more.
  void move_savepoint(Statement& statement, std::string_view what);

  Connection& connection;
  std::string group;
  StoreChecks checks;
  WalSync wal_sync;
  std::int64_t cluster = 0;   ///< 0: use_cluster() was not called yet.
  bool begun = false;         ///< Between begin() and the end that this class knows of.
  std::int64_t began_ms = 0;  ///< The batch: one time for all of its claims, which commit together.
  std::string claim_topic;    ///< As bound in claim_event.
  bool claim_bound = false;
  bool lost = false;  ///< The savepoint was gone: whatever transaction is open now, it is not the batch's.

  Statement begin_immediate;
  Statement savepoint;
  Statement release;
  Statement roll_back;
  Statement claim_event;
  Statement is_parked_claim;
  Statement position;
  Statement advance;
  Statement attempts_from;
  Statement record_started;
  Statement record_failed;
  Statement forget_attempts;
};

/// Milliseconds since 1970.
[[nodiscard]] std::int64_t inbox_now_ms() noexcept;

/// At most InboxStore::kTextLimitBytes of it, not cut inside of a character.
[[nodiscard]] std::string_view bounded_text(std::string_view text) noexcept;

/// Resets what others left in the middle on this connection. `writing_only` leaves open reads alone.
void reset_unfinished(sqlite3* db, bool writing_only) noexcept;

}  // namespace txbox::store
