#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include <txbox/base/error.hpp>
#include <txbox/store/connection.hpp>
#include <txbox/store/file_guard.hpp>
#include <txbox/store/wal_checkpoint.hpp>

#include "store_checks.hpp"

namespace txbox::store {

namespace {

constexpr std::chrono::seconds kFirstBackoff{1};
constexpr std::chrono::seconds kLongestBackoff{60};
// An application that commits without a pause leaves the lock free for a few us at a time.
constexpr useconds_t kPollUs = 50;

/// Spans every wait of one checkpoint: SQLite asks for the writer's lock and for the readers' separately, and counts
/// its calls from zero for each.
struct Deadline {
  sqlite3* db = nullptr;
  std::chrono::steady_clock::time_point end;
  bool interrupts = true;
};

int wait_or_interrupt(void* context, int /*calls*/) {
  const auto* deadline = static_cast<const Deadline*>(context);
  if (std::chrono::steady_clock::now() >= deadline->end) {
    if (deadline->interrupts) sqlite3_interrupt(deadline->db);
    return 0;
  }
  ::usleep(kPollUs);
  return 1;
}

/// Who stood in the way of a checkpoint that waited in vain: where the write lock is free it was a reader.
bool write_lock_is_free(Deadline& deadline) {
  // An interrupt that meets a statement rather than a checkpoint would still stand when the next checkpoint begins.
  deadline.interrupts = false;
  const bool is_free = sqlite3_exec(deadline.db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK;
  if (is_free) sqlite3_exec(deadline.db, "ROLLBACK", nullptr, nullptr, nullptr);
  deadline.interrupts = true;
  return is_free;
}

std::int64_t size_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::int64_t>(status.st_size) : 0;
}

}  // namespace

struct WalCheckpoint::State {
  /// The connection, there only while the WAL is large: among a thousand files it is an exception.
  struct Opened {
    explicit Opened(const std::string& path)
        : connection(Connection::open(path, {.purpose = OpenPurpose::relay})), checks(connection) {
      deadline.db = connection.handle();
      sqlite3_busy_handler(connection.handle(), &wait_or_interrupt, &deadline);
    }
    Connection connection;
    StoreChecks checks;
    Deadline deadline;
  };

  explicit State(const std::string& of) : path(of), files(file_set_identity(of)), wal_path(files.real_path + "-wal") {}

  void open() {
    if (opened) return;
    opened.emplace(path);
    require_same_files(path, files);
  }

  std::string path;
  FileSetIdentity files;
  std::string wal_path;
  std::optional<Opened> opened;
  std::chrono::steady_clock::duration backoff = kFirstBackoff;
  SteadyTime not_before{};
};

WalCheckpoint::WalCheckpoint(const std::string& path) : state_(std::make_unique<State>(path)) {}
WalCheckpoint::~WalCheckpoint() = default;

std::vector<WalReader> WalCheckpoint::readers() const {
  return state_->opened ? wal_readers(state_->opened->connection) : std::vector<WalReader>();
}

WalCheckpoint::Result WalCheckpoint::run(SteadyTime now) {
  State& state = *state_;
  Result result{.outcome = Outcome::not_due, .wal_bytes = size_of(state.wal_path)};
  if (result.wal_bytes <= kWalBytesWanted || now < state.not_before) return result;
  state.open();
  state.opened->checks.file_in_place();
  sqlite3* db = state.opened->connection.handle();
  state.opened->deadline.end = std::chrono::steady_clock::now() + kDeadline;
  int frames = 0;
  int copied = 0;
  const int code = sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_TRUNCATE, &frames, &copied);
  switch (code & 0xff) {
    case SQLITE_OK: result.outcome = Outcome::done; break;
    case SQLITE_INTERRUPT:
      result.outcome = write_lock_is_free(state.opened->deadline) ? Outcome::pinned : Outcome::busy;
      break;
    case SQLITE_LOCKED:
    case SQLITE_BUSY: result.outcome = Outcome::busy; break;
    default: throw_sqlite_error(db, code, "checkpointing the WAL");
  }
  if (result.outcome == Outcome::done) {
    state.backoff = kFirstBackoff;
    state.not_before = now;
    state.opened.reset();
    return result;
  }
  state.not_before = now + state.backoff;
  state.backoff = std::min<std::chrono::steady_clock::duration>(state.backoff * 2, kLongestBackoff);
  return result;
}

}  // namespace txbox::store
