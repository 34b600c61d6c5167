#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <txbox/base/error.hpp>
#include <txbox/outbox/event.hpp>

struct sqlite3;

namespace txbox::outbox {

struct InstallOptions {
  /// Limit for key + payload + headers in bytes, checked at each INSERT. 0: as installed, or 1,000,000 for a new file.
  std::int64_t max_record_bytes = 0;
};

/// Creates or migrates txbox's tables in the connection's main file; `outbox-relay init` does the same. Idempotent,
/// safe from eight processes at once. Refuses a file that is not in WAL mode. See txbox::ErrorCode for what it throws.
void install(sqlite3* db, const InstallOptions& options = {});

/// Adds events to the application's own open transaction, on its own connection.
///
/// Lifetime: borrows `db`, which must outlive it; its prepared statement is finalised in the destructor, so
/// destroy it before sqlite3_close(). Thread safety: as the connection's; one Outbox a connection.
///
/// A good guest: pragmas, hooks, busy handler, user_version, open savepoints and last_insert_rowid() are as before
/// after each call, also one that threw. What SQLite cannot give back is the INSERT itself: changes(), total_changes()
/// and the text of sqlite3_errmsg() speak of it, and an update hook sees its row. Read changes() of a statement of
/// yours before add().
class Outbox {
 public:
  /// Checks that the main file has this schema; make it once, at the start. Throws not_installed, schema_newer,
  /// schema_differs, attached_database (the tables are only in an ATTACHed file).
  explicit Outbox(sqlite3* db);
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;
  ~Outbox();

  /// Adds one event and returns its event id (the application's, or the UUIDv7 that was made). It is published if and
  /// only if the transaction commits. Throws no_transaction outside one, refused or invalid_argument for an event that
  /// may not be (the text says what to do), stale_snapshot where only a new transaction helps, busy, disk_full,
  /// schema_differs. After any of them the event is not added, and Error::transaction_alive() says whether the
  /// transaction is still open.
  std::string add(const Event& event);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::outbox
