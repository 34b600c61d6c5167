#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <txbox/base/clock.hpp>
#include <txbox/base/log.hpp>
#include <txbox/store/connection.hpp>
#include <txbox/store/file_guard.hpp>
#include <txbox/store/outbox_reader.hpp>
#include <txbox/store/schema.hpp>

#include "relay/engine/core.hpp"

namespace txbox::relay {

struct OpenDatabaseOptions {
  std::string path;
  std::string state_directory;
};

/// One database as the relay's reading thread holds it: the reading connection and the witness of what was read last.
/// Single-threaded.
class OpenDatabase {
 public:
  /// REQUIRES: check_file() passed, then the file's RelayLock was taken, and it outlives this.
  /// In the order that touches nothing on doubt: connection, schema, identity, witness, and last the home, which is
  /// written at the first run. Waits for nothing worth mentioning: other files are served on the same thread. Errors:
  /// moved, corrupt, not_installed, schema_newer, schema_differs, not_wal, restored; busy where another program keeps
  /// the file locked: try again.
  static std::unique_ptr<OpenDatabase> open(const OpenDatabaseOptions& options, const LogSink& log);
  OpenDatabase(const OpenDatabase&) = delete;
  OpenDatabase& operator=(const OpenDatabase&) = delete;
  ~OpenDatabase();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] sqlite3* handle() const noexcept { return connection_.handle(); }
  [[nodiscard]] const store::WitnessFile& witness_file() const noexcept { return witness_file_; }
  [[nodiscard]] store::OutboxReader& reader() noexcept {
    wake();
    return reader_;
  }
  /// False from sleep() to the next reading that finds anything new.
  [[nodiscard]] bool awake() const noexcept { return !asleep_; }
  /// PRAGMA data_version; wakes nothing.
  [[nodiscard]] std::int64_t data_version() { return reader_.data_version(); }
  [[nodiscard]] const store::FileIdentity& file() const noexcept { return file_; }

  /// Reads rows for the core, durable when this returns: nothing may be produced that a power cut could undo.
  store::ReadResult read_after(const command::Read& wish, store::RowBatch& out);
  store::ReadResult read_ready(const command::ReadReady& wish, store::RowBatch& out);

  /// To be called now and then: sleep(), and true, when nothing was read since the last call.
  bool rest();
  /// Gives memory back; the next reading that finds anything new takes it again.
  void sleep();

  /// At an end without doubt: see Connection::leave_whole().
  void leave_whole() noexcept { connection_.leave_whole(); }

  /// The witness of what was read and made durable, when it has changed since it was last taken.
  [[nodiscard]] std::optional<store::Witness> take_witness();
  /// Writes the newest witness at the end, where it has changed. It is a help and no promise: where it cannot be
  /// written that is only said.
  void leave_witness(const LogSink& log) const;

 private:
  OpenDatabase(std::string path, store::Connection connection, store::StoreIdentity identity, store::FileIdentity file,
               store::WitnessFile witness_file);
  void compare_home();
  [[nodiscard]] store::Witness witness() const;
  [[nodiscard]] bool compare_witness();  ///< True at the first run.
  void wake() noexcept {
    used_ = true;
    asleep_ = false;
  }
  [[nodiscard]] std::optional<store::ReadResult> nothing_new(std::int64_t after);
  void make_durable(const store::RowBatch& batch, const store::ReadResult& result);

  std::string path_;
  store::Connection connection_;
  store::StoreIdentity identity_;
  store::FileIdentity file_;
  store::WitnessFile witness_file_;
  store::OutboxReader reader_;
  bool used_ = true;                           ///< Since the last rest().
  bool asleep_ = false;                        ///< Its memory was given back, and nothing was read since.
  store::OutboxReader::Version read_version_;  ///< From before the last reading.
  std::int64_t newest_id_ = -1;                ///< As the last reading found it.
  int looks_asleep_ = 0;
  std::int64_t durable_through_ = 0;  ///< Every row up to this id was in the file at the last barrier.
  std::int64_t witness_there_ = -1;   ///< Anchor of the witness that was found, where it needs no change.
  std::int64_t witnessed_ = -1;       ///< Anchor of the witness that was taken last.
};

}  // namespace txbox::relay
