#pragma once

#include <memory>
#include <string>
#include <string_view>

struct sqlite3;

namespace txbox::store {

/// Claims event ids for one consumer group on the application's own connection, inside its own open transaction.
/// Borrows `db`, keeps one prepared statement. As thread-safe as the connection.
class InboxClaims {
 public:
  /// Throws not_installed, schema_newer, schema_differs, attached_database, invalid_argument (the group's name).
  InboxClaims(sqlite3* db, std::string_view consumer_group);
  InboxClaims(const InboxClaims&) = delete;
  InboxClaims& operator=(const InboxClaims&) = delete;
  ~InboxClaims();

  /// True for the first claim of this id by this group, false where it was claimed before, in whatever epoch, or given
  /// up as a dead letter by the consumer (inbox_store.hpp): a claim alone could not say that a copy was applied.
  /// Throws no_transaction, refused (an id that is empty, too long or has a NUL), stale_snapshot, busy, disk_full.
  [[nodiscard]] bool claim(std::string_view event_id);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::store
