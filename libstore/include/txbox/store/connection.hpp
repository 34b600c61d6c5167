#pragma once

#include <chrono>
#include <memory>
#include <string>

struct sqlite3;

namespace txbox::store {

/// Why a connection of our own is opened. All but `consumer` are DEFENSIVE, with TRUSTED_SCHEMA=0, mmap_size=0 and
/// wal_autocheckpoint=0; each has its own rules beside (docs/architecture.md, "The relay's own connections").
enum class OpenPurpose {
  relay,   ///< Reads rows and writes receipts: no triggers and no views of the application run inside it.
  tool,    ///< Writes what a person asked for; views and triggers on.
  reader,  ///< Reads only (SQLITE_OPEN_READONLY is not used: a WAL reader must be able to create -shm).
  create,  ///< As `tool`, and creates the file and sets WAL where another journal mode is in use.
  /// An application's handlers run on it, so it is as SQLite opens one: its triggers, views, functions and checkpoints
  /// work. synchronous=FULL and mmap_size=0; creates the file and sets WAL as `create` does.
  consumer,
};

struct OpenOptions {
  OpenPurpose purpose = OpenPurpose::tool;
  /// How long a statement waits for the write lock before Error(busy). Our busy handler polls every
  /// 50-200 us with jitter: SQLite's default starved a second writer for 5 s.
  std::chrono::milliseconds busy_deadline{5000};
};

/// An owned connection to one SQLite file. Single-threaded; closing is in the destructor. The file must
/// already have passed check_file() and, for the relay, its lock be held (file_guard.hpp).
class Connection {
 public:
  /// Errors: not_installed never (see schema.hpp), moved (no such file, 20), corrupt, busy, not_wal, failure.
  static Connection open(const std::string& path, const OpenOptions& options);
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;
  ~Connection();

  [[nodiscard]] sqlite3* handle() const noexcept { return db_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Changes how long later statements wait for the lock.
  void set_busy_deadline(std::chrono::milliseconds deadline) noexcept;
  /// In all, by whatever was done on it.
  [[nodiscard]] std::chrono::microseconds lock_waited() const noexcept;
  /// Gives the page cache and the parsed schema back, of a connection that will not be used for a while; the next
  /// statement that needs a table reads the schema again. REQUIRES: no transaction is open. Source:
  /// https://www.sqlite.org/pragma.html#pragma_writable_schema (RESET).
  void release_memory();
  /// Gives the page cache back.
  void release_pages() noexcept;
  /// For a file that is in no doubt: closing its last connection then merges the WAL into it, as SQLite does by
  /// itself, so that a file at rest is one piece. Without it (and the purpose `create`) closing changes nothing.
  void leave_whole() noexcept;
  /// From here on every statement that would write fails: for who only looks at a file that is in doubt.
  void forbid_writes();

 private:
  struct BusyWait;
  Connection(std::string path, sqlite3* db) noexcept;
  std::string path_;
  sqlite3* db_ = nullptr;
  std::unique_ptr<BusyWait> busy_wait_;
};

/// Throws the Error that fits the connection's last result code: busy, stale_snapshot, disk_full, corrupt
/// (also IOERR, NOTADB), refused (a guard's RAISE; its text is kept whole), failure. `what` names the
/// action ("marking rows as sent"). transaction_alive is taken from sqlite3_get_autocommit.
[[noreturn]] void throw_sqlite_error(sqlite3* db, int code, const std::string& what);

}  // namespace txbox::store
