#include <sqlite3.h>

#include <txbox/base/error.hpp>
#include <txbox/store/connection.hpp>
#include <txbox/store/statement.hpp>
#include <txbox/store/transaction.hpp>

#include "commit.hpp"

namespace txbox::store {

void commit_transaction(sqlite3* db) {
  const int code = sqlite3_exec(db, "COMMIT", nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return;
  const int kind = code & 0xff;
  if (kind == SQLITE_BUSY) throw_sqlite_error(db, sqlite3_extended_errcode(db), "committing");
  // A disk that fails is not tried again: what it holds is for a person to see.
  if (kind == SQLITE_IOERR || kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB) {
    throw_sqlite_error(db, sqlite3_extended_errcode(db), "committing, which may have happened");
  }
  // The commit frame may be in the WAL although a later step failed, so nobody here knows what became of it.
  throw Error(ErrorCode::commit_unknown,
              std::string("committing: ") + sqlite3_errmsg(db) + ": it may have happened; look at the data first",
              sqlite3_get_autocommit(db) == 0);
}

WriteTransaction::WriteTransaction(sqlite3* db) : db_(db) { execute(db, "BEGIN IMMEDIATE"); }

WriteTransaction::~WriteTransaction() {
  // SQLite may have rolled back by itself; a ROLLBACK that fails has nothing left to undo.
  if (open_ && sqlite3_get_autocommit(db_) == 0) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
}

void WriteTransaction::commit() {
  commit_transaction(db_);
  open_ = false;
}

ReadTransaction::ReadTransaction(sqlite3* db) : db_(db) { execute(db, "BEGIN"); }

ReadTransaction::~ReadTransaction() {
  if (sqlite3_get_autocommit(db_) == 0) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace txbox::store
