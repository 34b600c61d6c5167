#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <txbox/base/error.hpp>

struct sqlite3;

namespace txbox::inbox {

/// Creates or migrates txbox's tables in the connection's main file, as txbox::outbox::install does.
void install(sqlite3* db);

enum class Claim {
  first,      ///< Never seen by this group: apply the effect in this transaction.
  duplicate,  ///< Seen before: skip the effect. Normal, not an error.
};

/// Claims event ids inside the application's own open transaction, whatever the transport.
class Inbox {
 public:
  /// Borrows `db`. `consumer_group`: 1-255 bytes. Throws not_installed, schema_newer, schema_differs, invalid_argument.
  Inbox(sqlite3* db, std::string_view consumer_group);
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;
  ~Inbox();

  /// REQUIRES an open transaction (no_transaction otherwise); the claim commits or rolls back with it. An event that
  /// the consumer of the same group gave up as a dead letter is a duplicate here.
  [[nodiscard]] Claim claim(std::string_view event_id);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::inbox
