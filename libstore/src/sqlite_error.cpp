#include <string_view>

#include <sqlite3.h>

#include <txbox/base/error.hpp>
#include <txbox/store/connection.hpp>

namespace txbox::store {

namespace {

ErrorCode error_code_of(int code, std::string_view text) noexcept {
  if (code == SQLITE_BUSY_SNAPSHOT) return ErrorCode::stale_snapshot;
  if (code == SQLITE_READONLY_DBMOVED) return ErrorCode::moved;
  // The -shm takes its space before it is used, and a full disk is told apart from a broken one only by this.
  if (code == SQLITE_IOERR_SHMSIZE) return ErrorCode::disk_full;
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    // The WAL's own locks were contended for seconds, which passes like any other lock.
    case SQLITE_PROTOCOL: return ErrorCode::busy;
    case SQLITE_FULL: return ErrorCode::disk_full;
    case SQLITE_READONLY: return ErrorCode::unsupported_file;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_IOERR: return ErrorCode::corrupt;
    case SQLITE_TOOBIG:
    case SQLITE_CONSTRAINT: return ErrorCode::refused;
    // json_each inside a guard speaks for itself when the text is no JSON at all.
    case SQLITE_ERROR: return text == "malformed JSON" ? ErrorCode::refused : ErrorCode::failure;
    default: return ErrorCode::failure;
  }
}

}  // namespace

void throw_sqlite_error(sqlite3* db, int code, const std::string& what) {
  const std::string text = sqlite3_errmsg(db);
  // An application's connection may have extended result codes off, and a stale snapshot must not look merely busy.
  const int extended = sqlite3_extended_errcode(db);
  if ((extended & 0xff) == (code & 0xff)) code = extended;
  // A guard says all that there is to say; the statement that it refused is ours and tells nobody anything.
  const bool by_guard = text.starts_with("txbox: ");
  throw Error(error_code_of(code, text), by_guard ? text : what + ": " + text, sqlite3_get_autocommit(db) == 0);
}

}  // namespace txbox::store
