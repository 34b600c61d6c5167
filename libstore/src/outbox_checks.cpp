#include "outbox_checks.hpp"

#include <sqlite3.h>

#include <optional>

#include <txbox/base/error.hpp>
#include <txbox/store/schema.hpp>
#include <txbox/store/transaction.hpp>

#include "outbox_sql.hpp"

namespace txbox::store {

OutboxChecks::OutboxChecks(Connection& connection)
    : connection_(connection), schema_cookie_(connection.handle(), sql::kSchemaCookie) {
  // Before the statements of the owner are prepared: they would only say that a table is missing.
  std::optional<ReadTransaction> snapshot;
  if (sqlite3_get_autocommit(connection.handle()) != 0) snapshot.emplace(connection.handle());
  schema_unchanged();
}

void OutboxChecks::file_in_place() {
  int moved = 0;
  const int code = sqlite3_file_control(connection_.handle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (code != SQLITE_OK) throw_sqlite_error(connection_.handle(), code, "asking whether the file was moved");
  if (moved != 0)
    throw Error(ErrorCode::moved, connection_.path() + ": the file was moved, replaced or deleted while open");
}

void OutboxChecks::schema_unchanged() {
  const ResetGuard guard(schema_cookie_);
  const std::int64_t cookie = schema_cookie_.step() ? schema_cookie_.column_int64(0) : -1;
  if (cookie == verified_cookie_ && declared_as_known()) return;
  verify_outbox_schema(connection_.handle());
  verified_cookie_ = cookie;
}

/// A migration that changes what rows mean may leave every table's text, and so the cookie, as it was.
bool OutboxChecks::declared_as_known() {
  if (!declared_version_) declared_version_.emplace(connection_.handle(), sql::kDeclaredVersion);
  const ResetGuard guard(*declared_version_);
  return declared_version_->step() && declared_version_->column_int64(0) == kSchemaVersion;
}

void OutboxChecks::throw_restored(const std::string& why) const {
  throw Error(ErrorCode::restored, connection_.path() + ": " + why +
                                       ": the file is an older copy of itself; `outbox-relay adopt` is the way out");
}

}  // namespace txbox::store
