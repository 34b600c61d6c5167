#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include <sqlite3.h>
#include <sys/stat.h>

#include <txbox/base/backoff.hpp>
#include <txbox/base/error.hpp>
#include <txbox/base/random.hpp>
#include <txbox/store/connection.hpp>
#include <txbox/store/statement.hpp>

namespace txbox::store {

/// The busy handler's state. It stays in place while the Connection moves, because SQLite holds its address.
struct Connection::BusyWait {
  std::chrono::milliseconds deadline;
  std::chrono::steady_clock::time_point began{};
  std::chrono::steady_clock::duration waited{};
  SeededRandom random{random_seed()};

  /// SQLite's own handler backs off to 100 ms and loses to a busy writer for seconds; short jittered waits do not.
  static int call(void* self, int earlier_calls) noexcept {
    auto& wait = *static_cast<BusyWait*>(self);
    const auto now = std::chrono::steady_clock::now();
    if (earlier_calls == 0) wait.began = now;
    if (now - wait.began >= wait.deadline) return 0;
    std::this_thread::sleep_for(std::chrono::microseconds(50 + wait.random.below(151)));
    wait.waited += std::chrono::steady_clock::now() - now;
    return 1;
  }
};

namespace {

constexpr int kLookasideSlotBytes = 1200;
constexpr int kLookasideSlots = 8;

/// SQLite would only say that it is unable to open the file.
void require_folder(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  struct stat status {};
  if (folder.empty() || path.starts_with("file:") || ::stat(folder.c_str(), &status) == 0) return;
  throw Error(ErrorCode::failure, "opening " + path + ": the folder " + folder + ": " + std::strerror(errno));
}

void require_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return;
  const ErrorCode code = errno == ENOENT || errno == ENOTDIR ? ErrorCode::moved : ErrorCode::failure;
  throw Error(code, "opening " + path + ": " + std::strerror(errno));
}

void configure(sqlite3* db, int option, int value) {
  const int code = sqlite3_db_config(db, option, value, nullptr);
  if (code != SQLITE_OK) throw_sqlite_error(db, code, "configuring the connection");
}

std::string pragma_text(sqlite3* db, const char* sql) {
  Statement statement(db, sql);
  return statement.step() ? std::string(statement.column_text(0)) : std::string();
}

bool makes_file(OpenPurpose purpose) noexcept {
  return purpose == OpenPurpose::create || purpose == OpenPurpose::consumer;
}

void apply_rules(sqlite3* db, OpenPurpose purpose) {
  execute(db, "PRAGMA mmap_size=0");
  if (purpose == OpenPurpose::consumer) {
    // What Kafka is told was consumed must survive a power cut, however this SQLite was compiled.
    execute(db, "PRAGMA synchronous=FULL");
    return;
  }
  configure(db, SQLITE_DBCONFIG_DEFENSIVE, 1);
  configure(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0);
  if (purpose == OpenPurpose::relay) {
    // A process may have a thousand of these: SQLite's own memory for small things would be 48 KiB of each.
    sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, nullptr, kLookasideSlotBytes, kLookasideSlots);
    // An application's trigger or view must not run inside the relay: our own rows are already guarded.
    configure(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0);
    configure(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0);
    // A power cut may take the newest receipts, never some in the middle: those rows go out again, which is what is
    // promised. With FULL each marking would wait for the disk while it holds the write lock.
    execute(db, "PRAGMA synchronous=NORMAL");
  }
  // Checkpoints belong to the application: a second process that checkpoints opens the WAL-reset window. Closing the
  // last connection would checkpoint too, and so change a file that was just refused as doubtful.
  sqlite3_wal_autocheckpoint(db, 0);
  if (purpose != OpenPurpose::create) configure(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1);
}

/// The change of mode needs the file alone and does not go through the busy handler, so processes that create one
/// file at the same moment get in each other's way: all but one find WAL set when they look again.
std::string set_wal(sqlite3* db, std::chrono::milliseconds patience) {
  SeededRandom random(random_seed());
  const Backoff backoff{.first = std::chrono::milliseconds(1), .most = std::chrono::milliseconds(20)};
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (unsigned attempt = 0;; ++attempt) {
    try {
      return pragma_text(db, "PRAGMA main.journal_mode=WAL");
    } catch (const Error& error) {
      const auto wait = backoff.wait(attempt, random);
      if (error.code() != ErrorCode::busy || std::chrono::steady_clock::now() + wait > deadline) throw;
      std::this_thread::sleep_for(wait);
    }
  }
}

void require_wal(sqlite3* db, const OpenOptions& options) {
  std::string mode = pragma_text(db, "PRAGMA main.journal_mode");
  if (mode == "wal") return;
  if (makes_file(options.purpose)) mode = set_wal(db, options.busy_deadline);
  if (mode == "wal") return;
  throw Error(ErrorCode::not_wal,
              "the file is in journal mode " + mode + ", not WAL: run `outbox-relay init` or PRAGMA journal_mode=WAL");
}

}  // namespace

Connection::Connection(std::string path, sqlite3* db) noexcept : path_(std::move(path)), db_(db) {}

Connection Connection::open(const std::string& path, const OpenOptions& options) {
  const bool create = makes_file(options.purpose);
  if (path.empty() || path == ":memory:") {
    throw Error(ErrorCode::unsupported_file, "a database in memory cannot be shared: give a file's path");
  }
  create ? require_folder(path) : require_file(path);
  sqlite3* db = nullptr;
  const int flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | (create ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(path.c_str(), &db, flags, nullptr);
  Connection connection(path, db);  // Closes the handle, which is there even when the open failed.
  if (code != SQLITE_OK) {
    if (db == nullptr) throw Error(ErrorCode::failure, "opening " + path + ": out of memory");
    throw_sqlite_error(db, code, "opening " + path);
  }
  connection.busy_wait_ = std::make_unique<BusyWait>(BusyWait{.deadline = options.busy_deadline});
  sqlite3_busy_handler(db, &BusyWait::call, connection.busy_wait_.get());
  try {
    apply_rules(db, options.purpose);
    require_wal(db, options);
  } catch (const Error& error) {
    throw Error(error.code(), "opening " + path + ": " + error.what());
  }
  return connection;
}

Connection::Connection(Connection&& other) noexcept
    : path_(std::move(other.path_)), db_(std::exchange(other.db_, nullptr)), busy_wait_(std::move(other.busy_wait_)) {}

Connection& Connection::operator=(Connection&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(db_, other.db_);
  std::swap(busy_wait_, other.busy_wait_);
  return *this;
}

Connection::~Connection() { sqlite3_close_v2(db_); }

std::chrono::microseconds Connection::lock_waited() const noexcept {
  return std::chrono::duration_cast<std::chrono::microseconds>(busy_wait_->waited);
}

void Connection::release_memory() {
  execute(db_, "PRAGMA writable_schema=RESET");
  release_pages();
}

void Connection::release_pages() noexcept { sqlite3_db_release_memory(db_); }

void Connection::leave_whole() noexcept { sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr); }

void Connection::forbid_writes() { execute(db_, "PRAGMA query_only=1"); }

void Connection::set_busy_deadline(std::chrono::milliseconds deadline) noexcept { busy_wait_->deadline = deadline; }

}  // namespace txbox::store
