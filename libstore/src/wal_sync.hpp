#pragma once

#include <txbox/store/connection.hpp>

namespace txbox::store {

/// Makes every commit that this connection can see durable, whoever wrote it and with whatever `synchronous`: fsync
/// of the WAL through SQLite's own file, which needs no lock. Frames that were checkpointed away meanwhile are in
/// the database file, which a checkpoint syncs before it lets the WAL be overwritten.
class WalSync {
 public:
  explicit WalSync(Connection& connection) noexcept : connection_(connection) {}
  /// Throws corrupt when the sync fails, unsupported_file where the folder may not be read, not_wal where the file is
  /// not (or no longer) in WAL mode.
  void sync();

 private:
  void sync_folder();
  Connection& connection_;
  bool folder_synced_ = false;
};

}  // namespace txbox::store
