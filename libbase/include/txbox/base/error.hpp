#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace txbox {

/// What went wrong, in the terms of what the caller can do about it (see next_step()).
enum class ErrorCode {
  failure,              ///< A fault that fits no other code; the text is all there is.
  invalid_argument,     ///< The event or option itself is wrong.
  refused,              ///< The database's guards refused the row; the text says what to do.
  no_transaction,       ///< BEGIN IMMEDIATE is missing, or somebody ended the transaction that a call is part of.
  attached_database,    ///< The boxes must be in the connection's main file: WAL commits no two files atomically.
  busy,                 ///< Another connection holds the lock (SQLITE_BUSY, SQLITE_LOCKED).
  stale_snapshot,       ///< The transaction read before another one wrote (SQLITE_BUSY_SNAPSHOT); only a new one helps.
  disk_full,            ///< SQLITE_FULL: SQLite may have rolled the transaction back.
  commit_unknown,       ///< A COMMIT failed and may have happened; look the event id up before doing it again.
  not_installed,        ///< The tables are missing or of an older schema: run `outbox-relay init`.
  foreign_table,        ///< A table of that name exists and is not txbox's.
  schema_newer,         ///< The file was written by a newer txbox.
  schema_differs,       ///< Tables, triggers or defaults were altered: run `outbox-relay init`.
  not_wal,              ///< The file is not in WAL mode.
  unsupported_file,     ///< Network file system, hard link, mount point, UTF-16: WAL or the lock would not hold.
  moved,                ///< The file was moved, replaced or deleted while open.
  corrupt,              ///< SQLITE_CORRUPT, SQLITE_NOTADB or an I/O error; never repaired here.
  restored,             ///< The file is an older copy of itself: `outbox-relay adopt` is the way out.
  owned,                ///< Another relay holds the file.
  configuration,        ///< The configuration is wrong; the text names the option.
  broker_unavailable,   ///< Kafka cannot be reached now.
  foreign_store,        ///< Another database file keeps what this consumer group has applied.
  offset_out_of_range,  ///< No record is at the position, or no position is known; a policy or a person decides.
};

/// The question that callers have. Chosen by ErrorCode alone.
enum class NextStep {
  retry_call,         ///< The same call may succeed later, in the same transaction.
  retry_transaction,  ///< Roll back and run the whole transaction again.
  fix_first,          ///< Something must be changed before another try makes sense.
  give_up,            ///< Stop and let a person look.
};

[[nodiscard]] NextStep next_step(ErrorCode code) noexcept;
[[nodiscard]] std::string_view to_string(ErrorCode code) noexcept;

/// Every error that txbox throws. The text names the object and says what to do; it never contains a
/// key, a payload or a secret. Immutable; safe to copy between threads.
class Error : public std::runtime_error {
 public:
  /// `transaction_alive` says whether the application's transaction is still open after the call that
  /// threw. When it is false SQLite rolled it back by itself (https://sqlite.org/lang_transaction.html,
  /// "Response To Errors Within A Transaction"): the next statement would commit alone, so stop there.
  Error(ErrorCode code, const std::string& text, bool transaction_alive = false)
      : std::runtime_error(text), code_(code), transaction_alive_(transaction_alive) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  [[nodiscard]] NextStep next_step() const noexcept { return txbox::next_step(code_); }
  [[nodiscard]] bool transaction_alive() const noexcept { return transaction_alive_; }

 private:
  ErrorCode code_;
  bool transaction_alive_;
};

}  // namespace txbox
