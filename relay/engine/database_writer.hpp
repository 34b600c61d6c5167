#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <txbox/base/clock.hpp>
#include <txbox/base/log.hpp>
#include <txbox/store/file_guard.hpp>
#include <txbox/store/wal_checkpoint.hpp>

#include "relay/engine/store_jobs.hpp"
#include "relay/engine/wal_complaint.hpp"

namespace txbox::relay {

/// The same job may go well when it is made again: every write of the relay is idempotent, so that holds also for one
/// whose outcome is not known.
[[nodiscard]] bool heals_by_repetition(ErrorCode code) noexcept;

/// What the store worker has of one database: the connection that writes, open while there is something to write, and
/// all that is done with it. Single-threaded.
class DatabaseWriter {
 public:
  /// REQUIRES: a connection of this process has the file open as long as this lives. Throws moved.
  DatabaseWriter(DatabaseIndex index, const std::string& path, store::WitnessFile witness, LogSink log);
  DatabaseWriter(const DatabaseWriter&) = delete;
  DatabaseWriter& operator=(const DatabaseWriter&) = delete;
  ~DatabaseWriter();

  /// Whether the job writes to the database: then it opens the connection.
  [[nodiscard]] static bool needs_connection(const StoreJob& job) noexcept;
  [[nodiscard]] bool is_open() const noexcept { return open_ != nullptr; }
  /// When the connection was wanted last.
  [[nodiscard]] SteadyTime last_used() const noexcept { return last_used_; }
  void close() noexcept;
  /// See Connection::leave_whole().
  void leave_whole() noexcept;

  /// One try, which waits for the write lock for `patience` at most. Errors: those of the store; after one that
  /// heals_by_repetition() the job is to be made again.
  [[nodiscard]] std::optional<StoreAnswer> carry_out(const StoreJob& job, std::chrono::milliseconds patience);
  /// How long the last job waited for the lock, its earlier tries included; nullopt where none was asked for.
  [[nodiscard]] std::optional<std::chrono::microseconds> take_lock_wait() noexcept;

  /// Checkpoints a long WAL, and says who pins it. Returns what is new to be told. Errors as WalCheckpoint::run().
  [[nodiscard]] std::optional<WalSeen> keep_wal_short(SteadyTime now);

 private:
  struct Open;
  Open& open();
  event::Pruned prune(const command::Prune& wish);
  event::Released release(const StoreJob& job);
  void write_witness(const store::Witness& witness);
  void say(LogLevel level, const std::string& text) const {
    if (log_) log_(level, path_ + ": " + text);
  }

  const DatabaseIndex index_;
  const std::string path_;
  const store::FileSetIdentity files_;
  store::WitnessFile witness_;
  LogSink log_;
  std::unique_ptr<Open> open_;
  std::chrono::milliseconds patience_{0};
  std::optional<std::string> cluster_;  ///< Of the receipts.
  SteadyTime last_used_{};
  bool witness_failed_ = false;
  store::WalCheckpoint checkpoint_;
  WalComplaint wal_complaint_;
  SteadyTime next_readers_{};
  WalSeen wal_told_;
};

}  // namespace txbox::relay
