#include "wal_sync.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <txbox/base/error.hpp>
#include <txbox/store/statement.hpp>

namespace txbox::store {

namespace {

sqlite3_file* journal_file(sqlite3* db) {
  sqlite3_file* file = nullptr;
  const int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  if (code != SQLITE_OK) throw_sqlite_error(db, code, "finding the WAL");
  return file;
}

/// Nothing is wrong with the data yet: the folder's rights are, or this process has no descriptor left.
[[noreturn]] void throw_not_opened(const std::string& folder, int error) {
  if (error == EACCES || error == EPERM) {
    throw Error(ErrorCode::unsupported_file,
                folder + ": the folder must be readable by this user, or it cannot be synced: " + std::strerror(error));
  }
  throw Error(ErrorCode::failure, folder + ": the folder cannot be opened to sync it: " + std::strerror(error));
}

bool is_open(const sqlite3_file* file) { return file != nullptr && file->pMethods != nullptr; }

}  // namespace

void WalSync::sync() {
  sqlite3* db = connection_.handle();
  sqlite3_file* file = journal_file(db);
  if (!is_open(file)) {
    // Before the first read of a connection the WAL is not open yet, and the file has no methods to call.
    execute(db, "SELECT 1 FROM main.sqlite_schema LIMIT 1");
    file = journal_file(db);
  }
  if (!is_open(file))
    throw Error(ErrorCode::not_wal, connection_.path() + ": is not in WAL mode: run `outbox-relay init`");
  if (!folder_synced_) sync_folder();
  const int code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
  if (code != SQLITE_OK) {
    throw Error(ErrorCode::corrupt,
                connection_.path() + "-wal: cannot be made durable (sync failed); Kafka was told nothing of it");
  }
}

void WalSync::sync_folder() {
  // The WAL may be the work of a writer that never syncs; then its name in the folder is not durable either.
  const char* path = sqlite3_db_filename(connection_.handle(), "main");
  const std::string real = path == nullptr ? connection_.path() : path;
  const std::size_t slash = real.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : real.substr(0, slash + 1);
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw_not_opened(folder, errno);
  const bool synced = ::fsync(descriptor) == 0;
  const int error = errno;
  ::close(descriptor);
  if (!synced) throw Error(ErrorCode::corrupt, folder + ": the folder cannot be synced: " + std::strerror(error));
  folder_synced_ = true;
}

}  // namespace txbox::store
