#pragma once

#include <string>
#include <string_view>

#include <txbox/base/error.hpp>

struct sqlite3;

namespace txbox::store {

/// Throws no_transaction where the connection has no open transaction. `what` names the call.
void require_transaction(sqlite3* db, std::string_view what);

/// Where `table` is missing in the main file but stands in an ATTACHed one, throws attached_database: two files in WAL
/// mode do not commit together.
void refuse_attached(sqlite3* db, std::string_view table);

/// Puts last_insert_rowid() back at scope exit: the application reads it after its own INSERT.
class KeepLastRowid {
 public:
  explicit KeepLastRowid(sqlite3* db) noexcept;
  KeepLastRowid(const KeepLastRowid&) = delete;
  KeepLastRowid& operator=(const KeepLastRowid&) = delete;
  ~KeepLastRowid();

 private:
  sqlite3* db_;
  long long rowid_;
};

/// Throws the error of a statement on the application's connection again, with what the application must know: whether
/// its transaction lives, and that only a new one helps a stale snapshot.
[[noreturn]] void rethrow_to_guest(sqlite3* db, const Error& error, std::string_view what);

}  // namespace txbox::store
