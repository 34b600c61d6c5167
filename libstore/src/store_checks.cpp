#include "store_checks.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <optional>

#include <txbox/base/error.hpp>
#include <txbox/store/transaction.hpp>

#include "outbox_sql.hpp"

namespace txbox::store {

StoreChecks::StoreChecks(Connection& connection, void (*verify)(sqlite3* db))
    : connection_(connection), verify_(verify), schema_cookie_(connection.handle(), sql::kSchemaCookie) {
  // Before the statements of the owner are prepared: they would only say that a table is missing.
  std::optional<ReadTransaction> snapshot;
  if (sqlite3_get_autocommit(connection.handle()) != 0) snapshot.emplace(connection.handle());
  schema_unchanged();
  remember_side_files();
}

/// After the first snapshot both are open, and nobody may unlink them by the rules while they are. Who does it all the
/// same (to tidy up, or before a backup is copied over the file) leaves this connection alone with a WAL that no other
/// process sees, or with locks that no other process respects.
void StoreChecks::remember_side_files() {
  const char* file = sqlite3_db_filename(connection_.handle(), "main");
  const std::string path = file == nullptr ? connection_.path() : file;
  side_files_[0].path = path + "-wal";
  side_files_[1].path = path + "-shm";
  for (SideFile& side : side_files_) {
    struct stat status {};
    if (::stat(side.path.c_str(), &status) != 0)
      throw Error(ErrorCode::moved, side.path + ": was deleted while the database was open");
    side.device = status.st_dev;
    side.inode = status.st_ino;
  }
}

void StoreChecks::side_files_in_place() const {
  for (const SideFile& side : side_files_) {
    struct stat status {};
    const bool there = ::stat(side.path.c_str(), &status) == 0;
    if (there && status.st_dev == side.device && status.st_ino == side.inode) continue;
    throw Error(ErrorCode::moved,
                side.path + ": was deleted or replaced while the database was open; stop every program that has the " +
                    "database open, and start them again");
  }
}

StoreChecks::FileTimes StoreChecks::file_in_place() {
  int moved = 0;
  const int code = sqlite3_file_control(connection_.handle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (code != SQLITE_OK) throw_sqlite_error(connection_.handle(), code, "asking whether the file was moved");
  if (moved != 0)
    throw Error(ErrorCode::moved, connection_.path() + ": the file was moved, replaced or deleted while open");
  side_files_in_place();
  // The pages that the WAL or the cache still have would hide it. A database in WAL mode has at least its first page.
  struct stat status {};
  if (::stat(connection_.path().c_str(), &status) != 0) return {};
  if (status.st_size == 0) throw Error(ErrorCode::corrupt, connection_.path() + ": the file was emptied while open");
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  return {.bytes = status.st_size, .changed_at_ns = status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec};
}

void StoreChecks::schema_unchanged() {
  const ResetGuard guard(schema_cookie_);
  const std::int64_t cookie = schema_cookie_.step() ? schema_cookie_.column_int64(0) : -1;
  if (cookie == verified_cookie_ && declared_as_known()) return;
  verify_(connection_.handle());
  verified_cookie_ = cookie;
}

/// A migration that changes what rows mean may leave every table's text, and so the cookie, as it was.
bool StoreChecks::declared_as_known() {
  if (!declared_version_) declared_version_.emplace(connection_.handle(), sql::kDeclaredVersion);
  const ResetGuard guard(*declared_version_);
  return declared_version_->step() && declared_version_->column_int64(0) == kSchemaVersion;
}

void StoreChecks::throw_restored(const std::string& why) const {
  throw Error(ErrorCode::restored, connection_.path() + ": " + why +
                                       ": the file is an older copy of itself; `outbox-relay adopt` is the way out");
}

}  // namespace txbox::store
