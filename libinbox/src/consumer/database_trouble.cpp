#include "libinbox/src/consumer/database_trouble.hpp"

#include <sqlite3.h>

#include <txbox/store/connection.hpp>

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

}  // namespace

bool passes_by_itself(ErrorCode code) noexcept {
  return code == ErrorCode::busy || code == ErrorCode::stale_snapshot || code == ErrorCode::disk_full;
}

std::optional<std::string> trouble_of_database(sqlite3* db, const std::exception_ptr& thrown) {
  // The last call on this connection was the one that failed; a handler that went on after it succeeded elsewhere.
  // SQLITE_LOCKED is not among them: in a file of its own a connection is in nobody's way but its own, so that the
  // handler does it again however often it is called.
  const int code = sqlite3_errcode(db) & 0xff;
  switch (code) {
    case SQLITE_FULL:
    case SQLITE_BUSY:
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
