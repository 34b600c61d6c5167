#include <sqlite3.h>

#include <txbox/base/error.hpp>
#include <txbox/base/failpoint.hpp>
#include <txbox/store/inbox_claims.hpp>
#include <txbox/store/schema.hpp>
#include <txbox/store/statement.hpp>

#include "guest.hpp"

namespace txbox::store {

namespace {
constexpr std::size_t kGroupLimitBytes = 255;
constexpr std::string_view kClaim =
    "INSERT INTO main.inbox(consumer_group, event_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
}  // namespace

struct InboxClaims::State {
  sqlite3* db;
  std::string group;
  Statement claim;
};

InboxClaims::InboxClaims(sqlite3* db, std::string_view consumer_group) {
  if (consumer_group.empty() || consumer_group.size() > kGroupLimitBytes ||
      consumer_group.find('\0') != std::string_view::npos) {
    throw Error(ErrorCode::invalid_argument, "a consumer group's name has 1 to 255 bytes without NUL",
                sqlite3_get_autocommit(db) == 0);
  }
  try {
    verify_inbox_schema(db);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_installed) refuse_attached(db, "inbox");
    throw Error(error.code(), error.what(), sqlite3_get_autocommit(db) == 0);
  }
  state_ = std::make_unique<State>(State{db, std::string(consumer_group), Statement(db, kClaim)});
}

InboxClaims::~InboxClaims() = default;

bool InboxClaims::claim(std::string_view event_id) {
  sqlite3* db = state_->db;
  require_transaction(db, "claiming an event");
  Statement& statement = state_->claim;
  const ResetGuard guard(statement);
  try {
    statement.bind(1, std::string_view(state_->group)).bind(2, event_id);
    TXBOX_FAILPOINT("inbox:claim");
    while (statement.step()) {
    }
  } catch (const Error& error) {
    rethrow_to_guest(db, error, "claiming an event");
  }
  // The table has no rowid, so last_insert_rowid() is untouched.
  return sqlite3_changes(db) == 1;
}

}  // namespace txbox::store
