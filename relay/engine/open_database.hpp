#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <txbox/base/clock.hpp>
#include <txbox/base/log.hpp>
#include <txbox/store/change_watch.hpp>
#include <txbox/store/connection.hpp>
#include <txbox/store/file_guard.hpp>
#include <txbox/store/outbox_reader.hpp>
#include <txbox/store/schema.hpp>

#include "relay/engine/core.hpp"

namespace txbox::relay {

struct OpenDatabaseOptions {
  std::string path;
  std::string state_directory;
  bool standby = false;                     ///< Wait for another relay that holds the file instead of Error(owned).
  int cancel_descriptor = -1;               ///< Readable: open() gives up waiting.
  SteadyTime deadline = SteadyTime::max();  ///< For the wait for another relay, or for a program that locks the file.
};

/// One database as the relay's reading thread holds it: its lock, the reading connection, the watch for changes
/// and the witness of what was read last. Single-threaded.
class OpenDatabase {
 public:
  /// In the order that touches nothing on doubt: checks of the file, lock, connection, schema, identity, witness,
  /// and last the home, which is written at the first run.
  /// While another program keeps the file locked it goes on trying, with one line in the log; null when it was told to
  /// stop meanwhile. Errors: moved, corrupt, unsupported_file, owned, not_installed, schema_newer, schema_differs,
  /// not_wal, restored, busy (at the deadline).
  static std::unique_ptr<OpenDatabase> open(const OpenDatabaseOptions& options, const LogSink& log);
  OpenDatabase(const OpenDatabase&) = delete;
  OpenDatabase& operator=(const OpenDatabase&) = delete;
  ~OpenDatabase();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] sqlite3* handle() const noexcept { return connection_.handle(); }
  [[nodiscard]] const store::WitnessFile& witness_file() const noexcept { return witness_file_; }
  [[nodiscard]] store::OutboxReader& reader() noexcept { return reader_; }
  [[nodiscard]] store::ChangeWatch& watch() noexcept { return watch_; }

  /// Reads rows for the core, durable when this returns: nothing may be produced that a power cut could undo.
  store::ReadResult read_after(const command::Read& wish, store::RowBatch& out);
  store::ReadResult read_ready(const command::ReadReady& wish, store::RowBatch& out);

  /// At an end without doubt: see Connection::leave_whole().
  void leave_whole() noexcept { connection_.leave_whole(); }

  /// The witness of what was read and made durable, when it has changed since it was last taken.
  [[nodiscard]] std::optional<store::Witness> take_witness();
  /// Writes the newest witness at the end. It is a help and no promise: where it cannot be written that is only said.
  void leave_witness(const LogSink& log) const;

 private:
  OpenDatabase(std::string path, store::RelayLock lock, store::Connection connection, store::StoreIdentity identity,
               store::FileIdentity file, store::WitnessFile witness_file);
  void compare_home();
  [[nodiscard]] store::Witness witness() const;
  void compare_witness(const LogSink& log);
  void make_durable(const store::RowBatch& batch, const store::ReadResult& result);

  std::string path_;
  store::RelayLock lock_;
  store::Connection connection_;
  store::StoreIdentity identity_;
  store::FileIdentity file_;
  store::WitnessFile witness_file_;
  store::OutboxReader reader_;
  store::ChangeWatch watch_;
  std::int64_t durable_through_ = 0;  ///< Every row up to this id was in the file at the last barrier.
  std::int64_t witnessed_ = -1;       ///< Anchor of the witness that was taken last.
};

}  // namespace txbox::relay
