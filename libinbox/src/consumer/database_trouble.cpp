#include "libinbox/src/consumer/database_trouble.hpp"

#include <sqlite3.h>

#include <txbox/store/connection.hpp>
#include <txbox/store/statement.hpp>

namespace txbox::inbox::consumer {

namespace {

/// The code of an Error that a call of ours threw inside the handler (Outbox::add), or `failure`.
ErrorCode code_of(const std::exception_ptr& thrown) {
  if (!thrown) return ErrorCode::failure;
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return error.code();
  } catch (...) {
    return ErrorCode::failure;
  }
}

bool has_attached_files(sqlite3* db) {
  store::Statement files(db, "SELECT 1 FROM pragma_database_list WHERE name NOT IN ('main', 'temp')");
  return files.step();
}

}  // namespace

bool passes_by_itself(ErrorCode code) noexcept {
  return code == ErrorCode::busy || code == ErrorCode::stale_snapshot || code == ErrorCode::disk_full;
}

bool breaks_a_foreign_key(sqlite3* db) noexcept {
  int broken = 0;
  int most = 0;
  return sqlite3_db_status(db, SQLITE_DBSTATUS_DEFERRED_FKS, &broken, &most, 0) == SQLITE_OK && broken != 0;
}

bool may_be_done_again(ErrorCode code) noexcept { return passes_by_itself(code) || code == ErrorCode::commit_unknown; }

std::optional<std::string> trouble_of_database(sqlite3* db, const std::exception_ptr& thrown) {
  // The last call on this connection was the one that failed; a handler that went on after it succeeded elsewhere.
  // SQLITE_LOCKED is not among them: in a file of its own a connection is in nobody's way but its own, so that the
  // handler does it again however often it is called. The same holds for SQLITE_BUSY, since the lock of the file is
  // held already: but another file's may not be free.
  const int code = sqlite3_errcode(db) & 0xff;
  switch (code) {
    case SQLITE_BUSY:
      if (!has_attached_files(db)) break;
      [[fallthrough]];
    case SQLITE_FULL:
    case SQLITE_NOMEM: return std::string("a handler's statement: ") + sqlite3_errstr(code);
    case SQLITE_IOERR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: store::throw_sqlite_error(db, sqlite3_extended_errcode(db), "a handler's statement");
    default: break;
  }
  const ErrorCode own = code_of(thrown);
  if (passes_by_itself(own)) return "a handler's call of txbox: " + std::string(to_string(own));
  return std::nullopt;
}

}  // namespace txbox::inbox::consumer
