#pragma once

#include <deque>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <poll.h>

#include <txbox/base/clock.hpp>
#include <txbox/base/error.hpp>
#include <txbox/kafka/producer.hpp>

#include "relay/engine/broker_trouble.hpp"
#include "relay/engine/event_descriptor.hpp"
#include "relay/engine/kafka_side.hpp"
#include "relay/engine/open_database.hpp"
#include "relay/engine/runner.hpp"
#include "relay/engine/store_worker.hpp"
#include "relay/engine/topic_describer.hpp"
#include "relay/engine/wake_watch.hpp"

namespace txbox::relay {

/// What the loop holds, for the parts of it: runner.cpp has the loop itself, runner_kafka.cpp what comes from the
/// brokers, runner_store.cpp what comes from the databases, runner_stop.cpp how it ends.

using ReadWish = std::variant<command::Read, command::ReadReady, command::Reload>;

struct PendingRead {
  ReadWish wish;
  SteadyTime not_before{};
};

/// As the clients of this run are made.
[[nodiscard]] kafka::ProducerOptions producer_options(const RunnerOptions& options);
/// One process serves several files, so the last words must say which one they are about.
[[nodiscard]] Error naming(const std::string& path, const Error& error);

struct Runner::State {
  explicit State(RunnerOptions given);

  RunOutcome run();
  bool open_databases();
  void begin();
  void say(LogLevel level, const std::string& text) const {
    if (options.log) options.log(level, text);
  }

  void wait();
  void serve_stop();
  void serve_changes();
  void serve_reports();
  void serve_store();
  void serve_topics();
  void serve_wakes();
  void serve_reads();
  void serve_timers();
  void serve_drain();
  [[nodiscard]] bool drain_is_done() const;
  void own_up_to_drain();

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
  void carry_out(command::Say& wish);
  void carry_out(command::Stopped&) { stopped = true; }
  template <typename Wish>
  void submit(Wish& wish) {
    const DatabaseIndex database = wish.database;
    wakes[database].writing();
    worker.submit(database, StoreJob(std::move(wish)));
  }
  void release_due(command::ReleaseDue& wish);
  void use_cluster(const std::string& cluster_id);
  void hint(const kafka::ClientError& error);
  void read_one(const ReadWish& wish);
  void open_for_core(DatabaseIndex index);
  [[nodiscard]] bool busy_now() const;
  /// The producers are to be replaced: nothing may be handed over until they were.
  [[nodiscard]] bool refitting() const { return !held_back.empty() || kafka.changing(); }
  [[nodiscard]] SteadyTime next_deadline() const;
  [[nodiscard]] SteadyTime next_read() const;
  [[nodiscard]] static SteadyTime now() { return system_clock().steady_now(); }

  RunnerOptions options;
  EventDescriptor wake;
  std::vector<std::unique_ptr<OpenDatabase>> databases;
  std::vector<WakeWatch> wakes;
  KafkaSide kafka;
  TopicDescriber describer;
  StoreWorker worker;
  Core core;

  Commands commands;
  store::RowBatch batch;
  std::deque<PendingRead> reads;
  std::deque<event::Released> answered;  ///< Releases that needed no writer.
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
  bool stopping = false;
  bool deadline_told = false;
  SteadyTime stop_deadline = SteadyTime::max();
  SteadyTime drain_deadline = SteadyTime::max();
  SteadyTime next_witness{};
  SteadyTime next_housekeeping{};
  TroubleTalk trouble;
  std::vector<std::int64_t> drain_goals;
  std::set<std::string> topics_to_hear_of;  ///< Rows waited for them at the start; a drain asks once whether they came.
  RunOutcome outcome;
};

}  // namespace txbox::relay
