#include "outbox_checks.hpp"

#include <sqlite3.h>

#include <optional>

#include <txbox/base/error.hpp>
#include <txbox/store/schema.hpp>
#include <txbox/store/transaction.hpp>

#include "outbox_sql.hpp"

namespace txbox::store {

OutboxChecks::OutboxChecks(Connection& connection)
    : connection_(connection), schema_version_(connection.handle(), sql::kSchemaVersion) {
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
  const ResetGuard guard(schema_version_);
  const std::int64_t version = schema_version_.step() ? schema_version_.column_int64(0) : -1;
  if (version == verified_version_) return;
  verify_outbox_schema(connection_.handle());
  verified_version_ = version;
}

void OutboxChecks::throw_restored(const std::string& why) const {
  throw Error(ErrorCode::restored, connection_.path() + ": " + why +
                                       ": the file is an older copy of itself; `outbox-relay adopt` is the way out");
}

}  // namespace txbox::store
