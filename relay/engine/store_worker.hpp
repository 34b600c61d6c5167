#pragma once

#include <memory>
#include <string>
#include <vector>

#include <txbox/base/log.hpp>
#include <txbox/store/file_guard.hpp>

#include "relay/engine/duration_histogram.hpp"
#include "relay/engine/event_descriptor.hpp"
#include "relay/engine/liveness.hpp"
#include "relay/engine/store_jobs.hpp"

namespace txbox::relay {

/// The one thread that writes: marks, releases and retention's steps, in the order given for each database, so that
/// publishing never waits for SQLite's write lock. A busy lock or a full disk is waited out here, with back-off, and
/// only that database waits; a step of retention is put off instead, so that no mark waits behind it. The queue is as
/// long as the core's window lets it be. Its connection to a database is open while there is something to write and for
/// a while after: a thousand idle files cost none. All but the thread itself belongs to one thread; each answer signals
/// `wake`.
class StoreWorker {
 public:
  StoreWorker(const EventDescriptor& wake, Liveness& liveness, LogSink log);
  StoreWorker(const StoreWorker&) = delete;
  StoreWorker& operator=(const StoreWorker&) = delete;
  ~StoreWorker();

  /// REQUIRES: the file passed its checks, its lock is held, and a connection of this process has it open, until the
  /// answer StoreLeft. Throws moved.
  void add_database(DatabaseIndex database, const std::string& path, store::WitnessFile witness);
  /// Drops its jobs, closes what is open, and answers StoreLeft; at an end without doubt (`whole`) see
  /// Connection::leave_whole().
  void remove_database(DatabaseIndex database, bool whole);
  void start();
  void submit(DatabaseIndex database, StoreJob job);
  /// Empties `out` first.
  void take_answers(std::vector<StoreAnswer>& out);
  /// How long each write so far waited for its database's lock, all its tries together.
  [[nodiscard]] DurationHistogram lock_wait() const;
  /// Ends the job under way (within a fraction of a second) and drops the rest; twice is fine.
  void stop() noexcept;
  /// After stop(), at an end without doubt: see Connection::leave_whole().
  void leave_whole() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::relay
