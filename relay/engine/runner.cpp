#include "relay/engine/runner.hpp"

#include <algorithm>
#include <array>

#include <txbox/base/failpoint.hpp>
#include <txbox/kafka/errors.hpp>

#include "relay/engine/drain_verdict.hpp"
#include "relay/engine/runner_state.hpp"

namespace txbox::relay {

namespace {

using namespace std::chrono_literals;

constexpr auto kLongestSleep = 60s;
constexpr auto kHousekeepingInterval = 1s;

LogLevel level_of(int level) noexcept {
  constexpr std::array kLevels{LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error};
  return kLevels[static_cast<std::size_t>(std::clamp(level, 0, 3))];
}

}  // namespace

kafka::ProducerOptions producer_options(const RunnerOptions& options) {
  kafka::ProducerOptions producer;
  producer.properties = options.kafka;
  producer.window_records = 2 * static_cast<std::size_t>(options.core.window_rows);
  producer.log = options.log;
  return producer;
}

Runner::State::State(RunnerOptions given)
    : options(std::move(given)),
      kafka(producer_options(options), options.id_header),
      describer(producer_options(options), wake),
      worker(wake, options.log),
      core(options.core, &kafka::partition_for_key, &kafka::describe) {}

Runner::Runner(RunnerOptions options) : state_(std::make_unique<State>(std::move(options))) {}

Runner::~Runner() = default;

RunOutcome Runner::run() { return state_->run(); }

void Runner::State::begin() {
  for (const auto& database : databases) {
    worker.add_database(database->path(), database->witness_file());
    wakes.emplace_back(database->reader().data_version());
  }
  worker.start();
  for (std::size_t index = 0; index < databases.size(); ++index) open_for_core(static_cast<DatabaseIndex>(index));
}

RunOutcome Runner::State::run() {
  // The wait for another relay, and for a lock, is part of a drain's time.
  if (options.drain_timeout) drain_deadline = now() + *options.drain_timeout;
  if (!open_databases()) {
    if (options.drain) outcome.code = ExitCode::try_later;
    return outcome;
  }
  begin();
  while (!stopped) {
    wait();
    serve_stop();
    serve_changes();
    serve_reports();
    serve_store();
    serve_topics();
    serve_wakes();
    serve_reads();
    serve_timers();
    serve_drain();
  }
  own_up_to_drain();
  if (outcome.at_once) return outcome;
  worker.stop();
  worker.leave_whole();
  for (const auto& database : databases) {
    database->leave_whole();
    database->leave_witness(options.log);
  }
  outcome.published = core.status().sent;
  if (options.drain && outcome.code == ExitCode::ok) outcome.code = drain_verdict(options.databases, options.log);
  return outcome;
}

void Runner::State::step(const Event& event, std::span<const store::OutboxRow> rows) {
  commands.clear();
  core.step(now(), system_clock().wall_now(), event, commands);
  if (!commands.produce.empty()) {
    kafka.hand_over(commands.produce, rows, reports);
    TXBOX_FAILPOINT("relay:after_produce");
  }
  // Carrying out only queues things up, so that no step happens inside a step.
  for (Command& command : commands.other) {
    std::visit([this](auto& wish) { carry_out(wish); }, command);
  }
}

void Runner::State::carry_out(command::Say& wish) { say(level_of(wish.level), wish.text); }

bool Runner::State::busy_now() const {
  if (more_reports || !reports.empty() || !answered.empty()) return true;
  return !refitting() && next_read() <= now();
}

SteadyTime Runner::State::next_deadline() const {
  SteadyTime next =
      std::min({core.next_tick(), kafka.next_deadline(), next_housekeeping, stop_deadline, drain_deadline});
  for (const WakeWatch& watch : wakes) next = std::min(next, watch.next_look());
  if (!refitting()) next = std::min(next, next_read());
  return next;
}

void Runner::State::wait() {
  polled.clear();
  const auto add = [this](int descriptor) { polled.push_back({descriptor, POLLIN, 0}); };
  add(options.stop_descriptor);
  add(wake.descriptor());
  for (const int descriptor : kafka.report_descriptors()) add(descriptor);
  for (const auto& database : databases) add(database->watch().descriptor());
  add(options.change_descriptor);

  std::chrono::nanoseconds sleep{0};
  if (!busy_now())
    sleep =
        std::clamp<std::chrono::nanoseconds>(next_deadline() - std::min(now(), next_deadline()), 0ns, kLongestSleep);
  const timespec timeout{std::chrono::floor<std::chrono::seconds>(sleep).count(), (sleep % 1s).count()};
  if (ppoll(polled.data(), polled.size(), &timeout, nullptr) <= 0) return;

  if (polled[1].revents != 0) wake.clear();
  if (polled[2].revents != 0 || polled[3].revents != 0) kafka.drain_report_descriptors();
  for (std::size_t index = 0; index < databases.size(); ++index) {
    if (polled[4 + index].revents != 0 && databases[index]->watch().drain()) wakes[index].touched(now());
  }
}

void Runner::State::serve_timers() {
  const SteadyTime time = now();
  if (core.next_tick() <= time) {
    step(event::Tick{});
    settled_moved = true;
  }
  if (time < next_housekeeping) return;
  next_housekeeping = time + kHousekeepingInterval;
  if (const auto error = kafka.take_client_error()) hint(*error);
  for (std::size_t index = 0; index < databases.size(); ++index) {
    if (auto witness = databases[index]->take_witness())
      worker.submit(static_cast<DatabaseIndex>(index), WriteWitness{*witness});
  }
}

}  // namespace txbox::relay
