#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <txbox/base/bytes.hpp>
#include <txbox/base/headers.hpp>
#include <txbox/store/connection.hpp>

struct sqlite3;

namespace txbox::store {

/// A partition of the consumer's group; which group and which Kafka cluster, InboxStore knows.
struct InboxPlace {
  std::string topic;
  std::int32_t partition = -1;
};

struct InboxPosition {
  std::int64_t next_offset = 0;
  bool clean = false;  ///< Given up in order. False: whoever had it may have ended in the middle of a message.
  std::optional<std::int64_t> reset_to;  ///< A person's reset of the group that was honoured already.
  std::int64_t assignment = 0;           ///< How often the partition was taken.
  bool left = false;                     ///< From take(): somebody else was first, and the row is as it was.
};

enum class InboxClaim {
  first,          ///< Never seen by this group; it is claimed now.
  duplicate,      ///< Applied before.
  parked_before,  ///< Given up before as a dead letter. The row stays as it is; settle_parked() turns it.
};

/// The consumer's side of the inbox: positions, claims, attempts and parked messages of one group, on the consumer's
/// own connection, on which the application's handlers run too. Borrows the connection (purpose `consumer`); for the
/// thread of that connection. Keeps its statements prepared, and leaves none open after a call, also one that threw.
///
/// Positions are taken and given up in transactions of their own. Everything of a batch stands between begin() and
/// commit(): claims, attempts, parked messages and positions commit together with the effects of the handlers, or not
/// at all. A statement that a handler left in the middle is reset by begin() and commit(): it would hold the snapshot
/// of a past batch, or keep the transaction from ending.
///
/// Errors of every call: busy (the lock was not free in time), disk_full, corrupt, refused (a guard), failure. A call
/// of a batch throws no_transaction where the transaction is over, so that nothing of it ever commits alone.
class InboxStore {
 public:
  static constexpr std::size_t kTextLimitBytes = 1000;    ///< Longer reasons and errors are cut.
  static constexpr std::int64_t kAttemptsLimit = 10'000;  ///< Rows that attempts() returns at most.

  /// Throws invalid_argument (the group's name), not_installed, schema_newer, schema_differs.
  InboxStore(Connection& connection, std::string_view group);
  InboxStore(const InboxStore&) = delete;
  InboxStore& operator=(const InboxStore&) = delete;
  ~InboxStore();

  /// Finds or adds the number of a Kafka cluster; a small transaction where it is new. All that follows speaks of this
  /// cluster: an offset means nothing in another one. REQUIRES: called before any call below; no transaction is open.
  std::int64_t use_cluster(std::string_view cluster_id);

  /// Null where this group never had a position there.
  [[nodiscard]] std::optional<InboxPosition> position(const InboxPlace& place);

  struct Take {
    InboxPlace place;
    std::optional<std::int64_t> set_next;  ///< Where to begin from now on: the first time, or a reset.
    std::optional<std::int64_t> reset_to;  ///< To be remembered; -1: no reset is outstanding any more.
    /// With set_next: next_offset as it was loaded, null where there was no row. Where it is not so any more somebody
    /// has moved the position meanwhile; the row then stays as it is, and is not taken.
    std::optional<std::int64_t> loaded_next;
    /// Likewise the assignment as it was loaded: whoever took the partition meanwhile may be at the same offset again.
    std::optional<std::int64_t> loaded_assignment = std::nullopt;
  };
  /// Takes partitions, in one transaction: the position is set where wanted, `clean` is cleared, `assignment` rises,
  /// attempts below the position are forgotten (they were left by one who lost a compare-and-set), and all of them
  /// where set_next is another position than before: they may be of other records. Returns positions in the order asked
  /// for, as they are now, but with `clean` as it was before: true for a partition without a past. Throws failure where
  /// there is neither a position nor set_next. REQUIRES: no transaction is open.
  std::vector<InboxPosition> take(std::span<const Take> takes);

  struct GiveUp {
    InboxPlace place;
    std::int64_t expected_next = 0;
    std::int64_t assignment = 0;
    bool clean = true;  ///< Whether the next owner may take it as given up in order.
    /// A message whose start was recorded and that was never tried: its start is taken back.
    std::optional<std::int64_t> not_tried = std::nullopt;
  };
  /// Writes `clean`, in one transaction, where the position and the assignment are still the caller's. Elsewhere
  /// another consumer has the partition, and nothing changes. REQUIRES: no transaction is open.
  void give_up(std::span<const GiveUp> places);

  /// BEGIN IMMEDIATE, and the checks that come before every write: the file is in place (moved), its schema is the one
  /// that was verified (schema_newer, schema_differs). Throws failure where a transaction is open already, which then
  /// is the application's.
  void begin();
  /// Throws busy (still open: try again or roll back), corrupt or commit_unknown, which may have happened: look at the
  /// positions. Also no_transaction.
  void commit();
  /// Leaves the connection without a transaction, whatever state it is in.
  void rollback() noexcept;
  /// False where there is none, or where a handler or SQLite ended it: roll back then. A handler that ended it and
  /// began another one shows at release() or roll_back_to_savepoint() only.
  [[nodiscard]] bool transaction_open() const noexcept;

  /// A message's own part of the batch, one at a time. Savepoints that a handler left open end with it.
  void savepoint();
  /// Keeps what was done since savepoint(). Throws no_transaction where the handler ended the transaction.
  void release();
  /// Undoes what was done since savepoint(), and ends it. Throws no_transaction as release() does.
  void roll_back_to_savepoint();

  /// Where a claimed record stands in Kafka. Lives during a call.
  struct Origin {
    const InboxPlace& place;
    std::int64_t offset = -1;
  };
  /// Claims an event. Throws refused for an id that is empty, too long or has a NUL; the transaction is then alive.
  InboxClaim claim(std::string_view event_id, const Origin& origin);
  /// A copy of an event that was given up has been applied: the claim is from now on one of an applied event.
  void settle_parked(std::string_view event_id, const Origin& origin);
  /// Claims an event as a dead letter. One that was applied stays applied.
  void claim_parked(std::string_view event_id, const Origin& origin);

  /// The compare-and-set: false, and nothing changed, where the position is not `expected` any more.
  [[nodiscard]] bool advance(const InboxPlace& place, std::int64_t expected, std::int64_t next);

  struct Attempts {
    std::int64_t offset = -1;
    int started = 0;  ///< Tries whose end nobody saw: they ended the process.
    int failed = 0;   ///< Tries that ended with an error or asked for another one.
    std::int64_t next_try_at_ms = 0;
    std::int64_t updated_at_ms = 0;  ///< When the newest of them was recorded, by this machine's clock of then.
    std::string last_error;
  };
  /// In the order of offsets. Needs no transaction.
  [[nodiscard]] std::vector<Attempts> attempts(const InboxPlace& place, std::int64_t from_offset);
  /// Counts a try before it is made: committed before the handler runs, it counts although the process may end.
  void record_started(const InboxPlace& place, std::int64_t offset);

  /// Counts a try that ended. With `was_started` it is the one that record_started() counted: that start is taken back,
  /// so that a try counts once.
  void record_failed(const InboxPlace& place, std::int64_t offset, std::string_view error, std::int64_t next_try_at_ms,
                     bool was_started = false);
  /// Forgets what stands of this offset, after an end of either kind.
  void forget_attempts(const InboxPlace& place, std::int64_t offset);

  /// A record as it came, to be kept whole. Views live during park_message().
  struct ParkedMessage {
    const InboxPlace& place;
    std::int64_t offset = -1;
    std::optional<std::string_view> event_id;
    BytesView key;
    BytesView payload;
    const Headers& headers;  ///< Any: names need not be UTF-8 (foreign_headers_from_json reads them back).
    std::int64_t timestamp_ms = -1;
    int attempts = 0;
    std::string_view reason;
  };
  /// Keeps a message whole, without a limit but SQLite's (refused above it). The same record once more renews its
  /// reason.
  void park_message(const ParkedMessage& message);

  /// Makes everything that was committed so far durable, whatever `synchronous` the application chose. Kafka is told
  /// of it after this only. Throws corrupt, not_wal.
  void barrier();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether the file has txbox's outbox, so that dead letters can go through it. Says nothing about its state:
/// OutboxWriter verifies it.
[[nodiscard]] bool has_outbox(sqlite3* db);

}  // namespace txbox::store
