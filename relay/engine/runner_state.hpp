#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include <txbox/base/clock.hpp>
#include <txbox/base/error.hpp>
#include <txbox/kafka/producer.hpp>
#include <txbox/store/change_watch.hpp>

#include "relay/engine/broker_trouble.hpp"
#include "relay/engine/event_descriptor.hpp"
#include "relay/engine/file_finder.hpp"
#include "relay/engine/kafka_side.hpp"
#include "relay/engine/runner.hpp"
#include "relay/engine/served_file.hpp"
#include "relay/engine/store_worker.hpp"
#include "relay/engine/topic_describer.hpp"
#include "relay/engine/trouble_note.hpp"

namespace txbox::relay {

/// What the loop holds, for the parts of it: runner.cpp has the loop itself, runner_files.cpp which files it serves,
/// runner_kafka.cpp what comes from the brokers, runner_figures.cpp and runner_pulse.cpp what is told of it,
/// runner_store.cpp what comes from the databases, runner_stop.cpp how it ends.

using ReadWish = std::variant<command::Read, command::ReadReady, command::Reload>;

struct PendingRead {
  ReadWish wish;
  SteadyTime not_before{};
};

/// An answer that is not told yet: when the next scheduled row is due is asked first.
struct PendingRelease {
  event::Released released;
  SteadyTime not_before{};
};

/// As the clients of this run are made.
[[nodiscard]] kafka::ProducerOptions producer_options(const RunnerOptions& options);
/// One process serves several files, so the last words must say which one they are about.
[[nodiscard]] Error naming(const std::string& path, const Error& error);

struct Runner::State {
  explicit State(RunnerOptions given);

  RunOutcome run();
  void say(LogLevel level, const std::string& text) const {
    if (options.log) options.log(level, text);
  }

  void wait();
  void serve_stop();
  void serve_changes();
  void serve_files();
  void serve_reports();
  void serve_store();
  void serve_topics();
  void serve_wakes();
  void serve_reads();
  void serve_timers();
  void look_after_files();
  void serve_drain();
  [[nodiscard]] bool drain_is_done();
  void own_up_to_drain();
  void serve_pulse();

  // runner_figures.cpp
  void show_figures();
  void count_rows();
  void note_answers();
  void note_trouble(const kafka::ClientError& error);
  void note_connection_failed(const std::string& broker);
  void watch_trouble();
  [[nodiscard]] FileFigures file_figures(DatabaseIndex index) const;
  [[nodiscard]] std::vector<FileFigures> all_file_figures() const;

  void step(const Event& event, std::span<const store::OutboxRow> rows = {});
  void carry_out(command::Read& wish) { reads.push_back({wish}); }
  void carry_out(command::ReadReady& wish) { reads.push_back({wish}); }
  void carry_out(command::Reload& wish) { reads.push_back({wish}); }
  void carry_out(command::Rebuild& wish) { kafka.rebuild(wish, now()); }
  void carry_out(command::Describe& wish) { describer.describe(wish.topics); }
  void carry_out(command::Mark& wish) { submit(wish); }
  void carry_out(command::ReleaseDue& wish) { release_due(wish); }
  void carry_out(command::ReleaseTopic& wish) { submit(wish); }
  void carry_out(command::ReleaseLane& wish) { submit(wish); }
  void carry_out(command::Prune& wish) { submit(wish); }
  void carry_out(command::Say& wish);
  void say_more_parked();
  void carry_out(command::Stopped&) { stopped = true; }
  template <typename Wish>
  void submit(Wish& wish) {
    const DatabaseIndex database = wish.database;
    files[database]->wake->writing();
    worker.submit(database, StoreJob(std::move(wish)));
  }
  void release_due(command::ReleaseDue& wish);
  void use_cluster(const std::string& cluster_id);
  void hint(const kafka::ClientError& error);
  void read_one(const ReadWish& wish);
  void answer_one(const PendingRelease& pending);
  void note_pruned(const event::Pruned& pruned);
  void open_for_core(DatabaseIndex index);
  void note_awake(DatabaseIndex index);
  void take_file_changes();

  // runner_files.cpp
  void find_files();
  std::optional<DatabaseIndex> new_index();
  void open_file(DatabaseIndex index);
  [[nodiscard]] bool take_lock(ServedFile& file) const;
  [[nodiscard]] bool is_served_elsewhere(DatabaseIndex index);
  [[nodiscard]] bool passes_by_itself(const ServedFile& file, ErrorCode code) const;
  void wait_to_open(DatabaseIndex index, ErrorCode code, const std::string& reason);
  void end_file(DatabaseIndex index, const Error& error);
  void let_go(DatabaseIndex index);
  void left(DatabaseIndex index);
  void say_descriptor_limit();
  [[nodiscard]] bool several() const noexcept { return files.size() > 1 || finder.has_patterns(); }
  [[nodiscard]] OpenDatabase& database(DatabaseIndex index) { return *files[index]->database; }
  /// What fails here ends the file, and no other.
  template <typename Work>
  void for_file(DatabaseIndex index, Work&& work) {
    try {
      work();
    } catch (const Error& error) {
      end_file(index, error);
    }
  }
  [[nodiscard]] bool is_served(DatabaseIndex index) const { return files[index]->phase == ServedFile::Phase::serving; }

  [[nodiscard]] bool busy_now() const;
  /// The producers are to be replaced: nothing may be handed over until they were.
  [[nodiscard]] bool refitting() const { return !held_back.empty() || kafka.changing(); }
  [[nodiscard]] SteadyTime next_deadline() const;
  [[nodiscard]] SteadyTime next_read() const;
  [[nodiscard]] static SteadyTime now() { return system_clock().steady_now(); }

  RunnerOptions options;
  EventDescriptor wake;
  FileFinder finder;
  store::ChangeWatch watch;
  std::vector<std::unique_ptr<ServedFile>> files;  ///< By DatabaseIndex.
  KafkaSide kafka;
  TopicDescriber describer;
  StoreWorker worker;
  Core core;

  Commands commands;
  store::RowBatch batch;
  std::deque<PendingRead> reads;
  std::deque<PendingRelease> answered;
  std::set<std::pair<SteadyTime, DatabaseIndex>> to_open;  ///< Files that wait, by when they are tried.
  std::set<DatabaseIndex> looking;                         ///< Files whose data_version is to be looked at.
  std::map<FileNumber, DatabaseIndex> numbers;             ///< Of the files that are served.
  std::deque<DatabaseIndex> free_indices;                  ///< Of files that ended.
  std::vector<DatabaseIndex> draining;                     ///< Files that are not known to be drained.
  store::ChangeWatch::Changes file_changes;
  std::size_t serving_count = 0;
  std::optional<Error> worst;  ///< Why a file ended in doubt.
  std::vector<event::Report> reports;
  std::vector<event::Report> serving;
  std::vector<StoreAnswer> store_answers;
  std::vector<TopicAnswer> topic_answers;
  std::vector<event::TopicDescribed> held_back;  ///< Until the producers fit the topics' limits.
  std::vector<event::ProducerReady> ready;
  std::vector<pollfd> polled;
  std::string cluster_id;

  bool more_reports = false;
  bool settled_moved = true;
  bool stopped = false;
  bool all_ended = false;  ///< No file is left to serve, and not because a person wished it.
  bool stopping = false;
  bool deadline_told = false;
  SteadyTime stop_deadline = SteadyTime::max();
  SteadyTime drain_deadline = SteadyTime::max();
  SteadyTime next_scan{};
  SteadyTime first_scan = SteadyTime::max();
  SteadyTime next_pulse{};
  RunnerPulse pulse;  ///< As it was last told.
  std::size_t serving_told = 0;
  SteadyTime parked_quiet_until{};
  std::size_t parked_untold = 0;

  // For the figures.
  struct TroubleSeen {
    TroubleFigures figures;
    SteadyTime heard{};  ///< Last.
  };
  std::optional<TroubleSeen> trouble_seen;
  TroubleNote trouble_note{options.state_directory, ::getpid()};
  SteadyTime answered_at{};      ///< When Kafka last did something that it was asked for.
  std::int64_t sent_before = 0;  ///< By then.
  kafka::ConnectionTally tally_before;
  bool connected = false;
  DatabaseIndex next_counted = 0;
  DatabaseIndex next_witness = 0;
  std::deque<DatabaseIndex> awake;  ///< Files that were read, in the order in which they woke; some sleep again.
  std::set<DatabaseIndex> known_awake;
  bool limit_told = false;
  bool memory_released = false;
  SteadyTime next_trim = now() + std::chrono::seconds(5);
  SteadyTime next_housekeeping{};
  TroubleTalk trouble;
  std::set<std::string> topics_to_hear_of;  ///< Rows waited for them at the start; a drain asks once whether they came.
  RunOutcome outcome;
};

}  // namespace txbox::relay
