#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <txbox/base/log.hpp>
#include <txbox/kafka/producer.hpp>
#include <txbox/kafka/settings.hpp>

#include "relay/engine/core.hpp"
#include "relay/engine/exit_code.hpp"
#include "relay/engine/figures.hpp"
#include "relay/engine/liveness.hpp"
#include "relay/engine/runner_pulse.hpp"

namespace txbox::relay {

/// What may change while it runs; what is not there stays as it is.
struct RunnerChanges {
  std::optional<kafka::Properties> kafka;  ///< Checked as RunnerOptions::kafka.
  std::optional<OnRefusal> on_refusal;
  std::optional<KeepLimits> keep;
};

struct RunnerOptions {
  std::vector<std::string> databases;
  kafka::Properties kafka;  ///< Checked by kafka::check_producer_properties; with bootstrap.servers.
  bool drain = false;       ///< End when everything up to the newest row at the start is settled.
  std::optional<std::chrono::milliseconds> drain_timeout;  ///< Of the drain; then ExitCode::try_later.
  bool standby = false;                                    ///< Wait for another relay that holds a file.
  /// For development: topics that are missing are made so. None: they are waited for.
  std::optional<kafka::TopicShape> create_topics;
  std::string id_header = "id";             ///< Name of the header that carries the event id.
  std::chrono::milliseconds grace{10'000};  ///< After the stop signal: time for what is in flight.
  std::string state_directory;              ///< Where the witnesses lie.
  int stop_descriptor = -1;                 ///< Readable when a stop was asked for.
  std::function<int()> take_stop_requests;  ///< How many since the last call; the second one ends the process at once.
  int change_descriptor = -1;               ///< Readable when take_changes() has something.
  std::function<std::optional<RunnerChanges>()> take_changes;  ///< Since the last call; must not throw.
  std::function<void(const RunnerPulse&)> pulse;               ///< Called when it changes, and at least so often:
  std::chrono::milliseconds pulse_interval{1'000};
  std::shared_ptr<FigureBoard> board;  ///< Where the figures go every second; nullptr: none are made.
  CoreOptions core;
  /// Kept up to date by the run; for whoever asks from another thread.
  std::shared_ptr<Liveness> liveness = std::make_shared<Liveness>();
  LogSink log;
};

struct RunOutcome {
  ExitCode code = ExitCode::ok;
  bool drained = false;        ///< A drain came to its end by itself.
  std::int64_t published = 0;  ///< Rows that Kafka acknowledged in this run.
  bool at_once = false;        ///< A second signal came: the caller ends the process without waiting for destructors.
};

/// The production loop around the pure core: one thread that reads, publishes and serves reports, woken by poll(2),
/// and beside it one that writes the store and one that asks for topics. Nothing else runs. Construct,
/// run() once, destroy, all on one thread. Throws Error for what ends the process; exit_code_for() has its number.
class Runner {
 public:
  explicit Runner(RunnerOptions options);
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  ~Runner();

  RunOutcome run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::relay
