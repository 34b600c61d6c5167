#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <txbox/base/bytes.hpp>

struct sqlite3;

namespace txbox::store {

/// Counts by state for `status`. `ready` counts unsent, unheld rows too; all are O(held), never a walk over history.
struct OutboxCounts {
  std::int64_t ready = 0;
  std::int64_t scheduled = 0;
  std::int64_t sent = 0;
  std::int64_t parked = 0;
  std::int64_t blocked = 0;
  std::int64_t waiting = 0;
  std::int64_t skipped = 0;
  std::optional<std::int64_t> oldest_ready_created_at_ms;
  std::int64_t blocked_keys = 0;
  std::int64_t newest_id = 0;
  std::int64_t settled_through = 0;
};
[[nodiscard]] OutboxCounts count_outbox(sqlite3* db);

/// One row of outbox_status, with what `ls --json` shows; payload and headers only where asked for.
struct StatusRow {
  std::int64_t id = 0;
  std::string event_id;
  std::string topic;
  Bytes key;
  std::string state;
  std::int64_t attempts = 0;
  std::optional<std::int64_t> due_at_ms;
  std::optional<std::string> last_error;
  std::optional<std::int64_t> partition;
  std::optional<std::int64_t> offset;
  std::int64_t created_at_ms = 0;
  std::optional<std::int64_t> sent_at_ms;
  Bytes payload;
  Bytes headers;
};

struct RowFilter {
  std::optional<std::string> state;
  std::optional<std::string> topic;
  std::optional<std::string> key;  ///< Compared by bytes, text and blob alike.
  std::int64_t limit = 100;        ///< The newest rows that match, shown in commit order.
  bool with_payload = false;       ///< Fill StatusRow::payload and headers.
};
void list_outbox(sqlite3* db, const RowFilter& filter, const std::function<void(const StatusRow&)>& each);
/// The same for rows by id, in the order given; one that is not there is passed over.
void list_outbox_rows(sqlite3* db, std::span<const std::int64_t> ids, bool with_payload,
                      const std::function<void(const StatusRow&)>& each);

/// Which rows a person means; a row must be in one of the states.
struct RowChoice {
  std::vector<std::string> states;
  std::optional<std::string> topic;
  std::optional<std::string> key;  ///< Compared by bytes, text and blob alike.
};
/// The ids of all rows that match at this moment, oldest first: 8 bytes of memory a row, and no lock, however many.
[[nodiscard]] std::vector<std::int64_t> choose_outbox_rows(sqlite3* db, const RowChoice& choice);
[[nodiscard]] std::optional<StatusRow> find_outbox_row(sqlite3* db, const std::string& event_id);

}  // namespace txbox::store
