#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <txbox/base/bytes.hpp>
#include <txbox/base/headers.hpp>

struct sqlite3;

namespace txbox::store {

/// One event as it goes into the table. Views need only live during OutboxWriter::insert().
struct NewEvent {
  std::string_view event_id;  ///< Empty: one is made.
  std::string_view topic;
  std::optional<std::int32_t> partition;
  BytesView key;
  BytesView payload;
  const Headers* headers = nullptr;  ///< Null or empty: none.
  std::optional<std::int64_t> deliver_at_ms;
  bool as_is = false;  ///< The record is passed on as it came: reserved header names are allowed.
};

/// Inserts events on the application's own connection, inside its own open transaction. Borrows `db`, keeps one
/// prepared statement. As thread-safe as the connection. last_insert_rowid() is as before after every call, also one
/// that threw, and no statement is left open.
class OutboxWriter {
 public:
  /// Throws not_installed, schema_newer, schema_differs, attached_database (the tables are only in an ATTACHed file).
  explicit OutboxWriter(sqlite3* db);
  OutboxWriter(const OutboxWriter&) = delete;
  OutboxWriter& operator=(const OutboxWriter&) = delete;
  ~OutboxWriter();

  /// Returns the effective event id. Throws no_transaction, invalid_argument (headers), refused, stale_snapshot, busy,
  /// disk_full, not_installed, schema_differs (the tables were altered meanwhile; the event is not added).
  std::string insert(const NewEvent& event);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::store
