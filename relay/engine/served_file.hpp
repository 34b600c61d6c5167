#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <txbox/base/clock.hpp>
#include <txbox/store/file_guard.hpp>

#include "relay/engine/open_database.hpp"
#include "relay/engine/row_count.hpp"
#include "relay/engine/store_jobs.hpp"
#include "relay/engine/wake_watch.hpp"

namespace txbox::relay {

/// Device and inode: one file, however its path is written.
using FileNumber = std::pair<std::uint64_t, std::uint64_t>;

/// One file that the relay was told to serve, or found, from then to its end.
struct ServedFile {
  enum class Phase : std::uint8_t {
    waiting,  ///< To be opened when its time comes: at first, behind another relay, while it is locked.
    serving,
    leaving,  ///< It ended; the store worker still has it open.
    ended,
  };

  std::string path;
  bool by_pattern = false;  ///< Found, not named: it may come, go, and not be ready yet.
  Phase phase = Phase::waiting;
  SteadyTime open_at{};
  unsigned tries = 0;
  std::string told;                        ///< Why it waits, as was last said.
  std::optional<FileNumber> number;        ///< Of the file that the lock is on.
  std::optional<store::RelayLock> lock;    ///< Kept while the file is locked by others, and as long as it is open.
  std::unique_ptr<OpenDatabase> database;  ///< While serving and leaving.
  std::optional<WakeWatch> wake;           ///< While serving.
  std::int64_t drain_goal = 0;
  std::int64_t newest_deed = 0;  ///< OutboxReader::newest_deed(), when what is held was looked at last.
  WalSeen wal;                   ///< While serving; as it was last told.

  // For the figures.
  bool standby = false;  ///< While waiting: another relay holds the file.
  std::string why_ended;
  RowCount row_count;
  std::optional<WallTime> last_mark;
  std::int64_t pruned = 0;  ///< Rows that retention deleted.
  std::optional<WallTime> last_prune;
};

}  // namespace txbox::relay
