#pragma once

#include <cstdint>
#include <string>

struct sqlite3;

namespace txbox::store {

/// The newest schema version that this build knows; the value of txbox_meta 'schema_version'.
inline constexpr int kSchemaVersion = 1;
inline constexpr std::int64_t kDefaultMaxRecordBytes = 1'000'000;

struct InstallOptions {
  /// Limit for key + payload + headers in bytes. 0 leaves an installed limit as it is (default for a new file).
  std::int64_t max_record_bytes = 0;
  bool outbox = true;
  bool inbox = true;
};

struct InstallResult {
  bool created = false;   ///< Tables were made that were not there.
  bool repaired = false;  ///< Triggers, indexes, views or rows of our own were put back.
  std::int64_t old_max_record_bytes = 0;
  std::int64_t max_record_bytes = 0;
};

/// Creates or migrates the tables of both boxes in the connection's main file, in one BEGIN IMMEDIATE
/// transaction of its own; a second call changes nothing, and where nothing is to be made it does not ask for the write
/// lock; eight processes may call it at once.
/// The connection's pragmas, hooks, busy handler and user_version are left alone; where the application
/// has no busy handler a busy lock is waited for here, up to five seconds.
/// Errors: invalid_argument (called inside a transaction), not_wal, attached_database or in-memory
/// (unsupported_file), UTF-16 (unsupported_file), foreign_table, schema_newer, schema_differs (only some of
/// the tables are there), busy.
InstallResult install(sqlite3* db, const InstallOptions& options);

/// Checks, in the caller's snapshot, that the file has exactly this build's schema: version, and the text of
/// every table, index, trigger and view. Throws not_installed, schema_newer or schema_differs, naming the object.
void verify_outbox_schema(sqlite3* db);
void verify_inbox_schema(sqlite3* db);
/// Which boxes' tables the file has, each verified as above. Throws not_installed when it has neither.
struct Boxes {
  bool outbox = false;
  bool inbox = false;
};
Boxes verify_boxes(sqlite3* db);

/// txbox_meta: identity of the store. incarnation rises with `outbox-relay adopt`.
struct StoreIdentity {
  std::string store_uuid;
  std::int64_t incarnation = 1;
  std::int64_t schema_version = kSchemaVersion;
  std::int64_t max_record_bytes = kDefaultMaxRecordBytes;
};
[[nodiscard]] StoreIdentity read_identity(sqlite3* db);

}  // namespace txbox::store
