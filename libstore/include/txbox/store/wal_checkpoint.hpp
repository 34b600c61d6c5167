#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <txbox/base/clock.hpp>
#include <txbox/store/wal_readers.hpp>

namespace txbox::store {

/// Keeps the WAL bounded where the application's own checkpoints do not: above 16 MB it is copied back and truncated.
/// The application's auto-checkpoint does the work in ordinary life. A checkpoint that finds the file busy gives up
/// after 10 ms in all and is tried again after 1 s, doubling up to 60 s. On a connection of its own, open
/// while the WAL is large, because its busy handler interrupts: a TRUNCATE that does not get the write lock would go on
/// as PASSIVE, which on SQLite before 3.51.3, 3.50.7 and 3.44.6 can race with a writer that resets the WAL.
/// Single-threaded.
class WalCheckpoint {
 public:
  static constexpr std::int64_t kWalBytesWanted = 16 << 20;
  static constexpr std::chrono::milliseconds kDeadline{10};

  enum class Outcome {
    not_due,  ///< The WAL is small, or the last failure is too near.
    done,     ///< Everything was copied and the WAL is empty.
    busy,     ///< A writer or another checkpoint held the file.
    pinned,   ///< No writer did, so a reader's old snapshot stood in the way. Worth a warning when it lasts.
  };
  struct Result {
    Outcome outcome = Outcome::not_due;
    std::int64_t wal_bytes = 0;  ///< Before.
  };

  /// REQUIRES: a connection of this process has the database open, so that its files cannot be others later.
  /// Errors: moved.
  explicit WalCheckpoint(const std::string& path);
  WalCheckpoint(const WalCheckpoint&) = delete;
  WalCheckpoint& operator=(const WalCheckpoint&) = delete;
  ~WalCheckpoint();

  /// To be called now and then; mostly a stat of the WAL. Errors: moved, corrupt, disk_full, those of Connection::open.
  Result run(SteadyTime now);
  /// Who pins the WAL now; nobody as long as it is not large.
  [[nodiscard]] std::vector<WalReader> readers() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::store
