#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <txbox/base/error.hpp>
#include <txbox/base/log.hpp>
#include <txbox/store/file_guard.hpp>

#include "relay/engine/core.hpp"
#include "relay/engine/event_descriptor.hpp"

namespace txbox::relay {

/// Which Kafka cluster the receipts that follow speak of.
struct UseCluster {
  std::string kafka_cluster_id;
};
struct WriteWitness {
  store::Witness witness;
};
using StoreJob = std::variant<command::Mark, command::ReleaseDue, command::ReleaseTopic, command::ReleaseLane,
                              UseCluster, WriteWitness>;

/// A store error that no repetition heals: it ends the process with its exit code.
struct StoreFailure {
  DatabaseIndex database = 0;
  Error error;
};
using StoreAnswer = std::variant<event::Marked, event::Released, StoreFailure>;

/// The one thread that writes: marks and releases, in the order given for each database, so that publishing never
/// waits for SQLite's write lock. A busy lock or a full disk is waited out here, with back-off, and only that
/// database waits. The queue is as long as the core's window lets it be. add_database() comes before start(); submit(),
/// take_answers() and stop() belong to one thread; each answer signals `wake`.
class StoreWorker {
 public:
  StoreWorker(const EventDescriptor& wake, LogSink log);
  StoreWorker(const StoreWorker&) = delete;
  StoreWorker& operator=(const StoreWorker&) = delete;
  ~StoreWorker();

  /// Opens the worker's own connection. REQUIRES: the file passed its checks and its lock is held.
  void add_database(const std::string& path, store::WitnessFile witness);
  void start();
  void submit(DatabaseIndex database, StoreJob job);
  /// Empties `out` first.
  void take_answers(std::vector<StoreAnswer>& out);
  /// Ends the job under way (within a fraction of a second) and drops the rest; twice is fine.
  void stop() noexcept;
  /// After stop(), at an end without doubt: see Connection::leave_whole().
  void leave_whole() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::relay
