#include <sqlite3.h>

#include <txbox/base/error.hpp>
#include <txbox/base/failpoint.hpp>
#include <txbox/store/outbox_tools.hpp>
#include <txbox/store/statement.hpp>
#include <txbox/store/transaction.hpp>

#include "outbox_sql.hpp"
#include "store_checks.hpp"

namespace txbox::store {

namespace {

std::int64_t run_counted(sqlite3* db, std::string_view text) {
  Statement statement(db, text);
  statement.execute();
  return sqlite3_changes64(db);
}

/// The one value of a statement that has one, such as one with RETURNING.
std::int64_t run_valued(sqlite3* db, std::string_view text) {
  Statement statement(db, text);
  if (!statement.step())
    throw Error(ErrorCode::schema_differs, "txbox's own rows are missing: run `outbox-relay init`");
  const std::int64_t value = statement.column_int64(0);
  while (statement.step()) {
  }
  return value;
}

void store_removed_rows(sqlite3* db) {
  Statement store(db, sql::kStoreRemovedRows);
  store.bind(1, run_valued(db, sql::kCountRemovedRows));
  store.execute();
}

}  // namespace

AdoptResult adopt_store(Connection& connection, const AuditNote& note) {
  sqlite3* db = connection.handle();
  StoreChecks checks(connection);
  checks.file_in_place();
  WriteTransaction transaction(db);
  checks.schema_unchanged();
  AdoptResult result;
  result.incarnation = run_valued(db, sql::kNewIncarnation);
  result.foreign_receipts = run_counted(db, sql::kDropForeignReceipts);
  result.foreign_held = run_counted(db, sql::kDropForeignHeld);
  result.settled_through = run_valued(db, sql::kFallBackToSettled);
  run_counted(db, sql::kPrunedNotAboveSettled);
  store_removed_rows(db);
  run_counted(db, sql::kForgetHome);

  const std::string detail = "incarnation " + std::to_string(result.incarnation) + ", settled through " +
                             std::to_string(result.settled_through) + (note.why.empty() ? "" : "; " + note.why);
  Statement audit(db, sql::kAudit);
  audit.bind(1, std::string_view(note.who))
      .bind(2, std::string_view("adopt"))
      .bind_null(3)
      .bind(4, std::string_view(detail));
  audit.execute();
  TXBOX_FAILPOINT("adopt:before-commit");
  transaction.commit();
  return result;
}

}  // namespace txbox::store
