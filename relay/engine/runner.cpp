#include "relay/engine/runner.hpp"

#include <algorithm>
#include <array>

#include <malloc.h>

#include <txbox/base/failpoint.hpp>
#include <txbox/kafka/errors.hpp>

#include "relay/engine/drain_verdict.hpp"
#include "relay/engine/runner_state.hpp"

namespace txbox::relay {

namespace {

using namespace std::chrono_literals;

constexpr auto kLongestSleep = 60s;
constexpr auto kHousekeepingInterval = 1s;
constexpr std::size_t kWitnessesAtOnce = 20;
constexpr auto kTrimInterval = 20s;
constexpr auto kParkedInterval = 10s;

LogLevel level_of(int level) noexcept {
  constexpr std::array kLevels{LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error};
  return kLevels[static_cast<std::size_t>(std::clamp(level, 0, 3))];
}

CoreOptions core_options(const RunnerOptions& options) {
  CoreOptions core = options.core;
  core.measure = options.board != nullptr;
  return core;
}

}  // namespace

kafka::ProducerOptions producer_options(const RunnerOptions& options) {
  kafka::ProducerOptions producer;
  producer.properties = options.kafka;
  producer.window_records = 2 * static_cast<std::size_t>(options.core.window_rows);
  producer.window_bytes = 2 * static_cast<std::size_t>(options.core.window_bytes);
  producer.log = options.log;
  return producer;
}

Runner::State::State(RunnerOptions given)
    : options(std::move(given)),
      finder(options.databases),
      kafka(producer_options(options), options.id_header),
      describer(producer_options(options), wake, *options.liveness, options.create_topics),
      worker(wake, *options.liveness, options.log),
      core(core_options(options), &kafka::partition_for_key, &kafka::describe) {}

Runner::Runner(RunnerOptions options) : state_(std::make_unique<State>(std::move(options))) {}

Runner::~Runner() = default;

RunOutcome Runner::run() { return state_->run(); }

RunOutcome Runner::State::run() {
  // The wait for another relay, and for a lock, is part of a drain's time.
  if (options.drain_timeout) drain_deadline = now() + *options.drain_timeout;
  worker.start();
  for (const std::string& folder : finder.folders()) watch.add_folder(folder);
  first_scan = now();
  find_files();
  for (const std::string& pattern : finder.without_files()) {
    say(LogLevel::warning, pattern + ": no file fits" + (options.drain ? "" : " yet"));
  }
  show_figures();
  while (!stopped) {
    options.liveness->turned(Loop::runner, now());
    wait();
    serve_stop();
    serve_changes();
    serve_files();
    serve_reports();
    serve_store();
    serve_topics();
    serve_wakes();
    serve_reads();
    serve_timers();
    serve_drain();
    serve_pulse();
  }
  say_more_parked();
  if (all_ended && !worst) worst.emplace(ErrorCode::moved, "no file is there to serve");
  if (all_ended) throw several() ? Error(worst->code(), "no file is left to serve") : *worst;
  own_up_to_drain();
  if (outcome.at_once) return outcome;
  worker.stop();
  worker.leave_whole();
  std::vector<std::string> served;
  for (const auto& file : files) {
    if (file->phase != ServedFile::Phase::serving) continue;
    file->database->leave_whole();
    file->database->leave_witness(options.log);
    served.push_back(file->path);
  }
  outcome.published = core.status().sent;
  if (options.drain && outcome.code == ExitCode::ok) {
    outcome.code = drain_verdict(served, options.log);
    if (worst) outcome.code = worse_of(outcome.code, exit_code_for(worst->code()));
  }
  return outcome;
}

void Runner::State::step(const Event& event, std::span<const store::OutboxRow> rows) {
  commands.clear();
  core.step(now(), system_clock().wall_now(), event, commands);
  std::optional<Error> failure;
  if (!commands.produce.empty()) {
    try {
      kafka.hand_over(commands.produce, rows, reports);
    } catch (const Error& error) {
      // Its file ends with it; what this step asks for other files is done all the same.
      failure = error;
    }
    TXBOX_FAILPOINT("relay:after_produce");
  }
  // Carrying out only queues things up, so that no step happens inside a step.
  for (Command& command : commands.other) {
    std::visit([this](auto& wish) { carry_out(wish); }, command);
  }
  if (failure) throw *failure;
}

void Runner::State::carry_out(command::Say& wish) {
  if (!wish.parked_in) return say(level_of(wish.level), wish.text);
  // A topic whose limit shrank can park thousands in a second.
  if (now() < parked_quiet_until) {
    ++parked_untold;
    return;
  }
  parked_quiet_until = now() + kParkedInterval;
  say(level_of(wish.level), files[*wish.parked_in]->path + ": " + wish.text);
}

void Runner::State::say_more_parked() {
  if (parked_untold == 0 || (now() < parked_quiet_until && !stopped)) return;
  parked_quiet_until = now() + kParkedInterval;
  const std::size_t more = std::exchange(parked_untold, 0);
  say(LogLevel::warning, std::to_string(more) + (more == 1 ? " more row was parked" : " more rows were parked"));
}

bool Runner::State::busy_now() const {
  if (more_reports || !reports.empty()) return true;
  return !refitting() && next_read() <= now();
}

SteadyTime Runner::State::next_deadline() const {
  SteadyTime next =
      std::min({core.next_tick(), kafka.next_deadline(), next_housekeeping, stop_deadline, drain_deadline});
  for (const DatabaseIndex index : looking) next = std::min(next, files[index]->wake->next_look());
  for (const PendingRelease& pending : answered) next = std::min(next, pending.not_before);
  if (!to_open.empty() && !stopping) next = std::min(next, to_open.begin()->first);
  if (finder.has_patterns() && !stopping && !options.drain) next = std::min(next, next_scan);
  if (!refitting()) next = std::min(next, next_read());
  if (options.pulse) next = std::min(next, next_pulse);
  return next;
}

void Runner::State::wait() {
  polled.clear();
  const auto add = [this](int descriptor) { polled.push_back({descriptor, POLLIN, 0}); };
  add(options.stop_descriptor);
  add(wake.descriptor());
  for (const int descriptor : kafka.report_descriptors()) add(descriptor);
  add(watch.descriptor());
  add(options.change_descriptor);

  std::chrono::nanoseconds sleep{0};
  if (!busy_now())
    sleep =
        std::clamp<std::chrono::nanoseconds>(next_deadline() - std::min(now(), next_deadline()), 0ns, kLongestSleep);
  const timespec timeout{std::chrono::floor<std::chrono::seconds>(sleep).count(), (sleep % 1s).count()};
  if (ppoll(polled.data(), polled.size(), &timeout, nullptr) <= 0) return;

  if (polled[1].revents != 0) wake.clear();
  if (polled[2].revents != 0 || polled[3].revents != 0) kafka.drain_report_descriptors();
  if (polled[4].revents != 0) take_file_changes();
}

void Runner::State::look_after_files() {
  // A few in each interval: at a first run every file has one to write, and marks wait behind them.
  for (std::size_t step = 0, written = 0; step < files.size() && written < kWitnessesAtOnce; ++step) {
    const DatabaseIndex index = next_witness++ % static_cast<DatabaseIndex>(files.size());
    if (!is_served(index)) continue;
    if (auto witness = database(index).take_witness()) {
      worker.submit(index, WriteWitness{*witness});
      ++written;
    }
  }
  for (const auto& file : files) {
    if (file->phase == ServedFile::Phase::serving && file->database->rest()) memory_released = true;
  }
  if (!memory_released || now() < next_trim) return;
  // What many small owners gave back lies between what they keep, and malloc returns only the end by itself.
  malloc_trim(0);
  memory_released = false;
  next_trim = now() + kTrimInterval;
}

void Runner::State::serve_timers() {
  const SteadyTime time = now();
  if (core.next_tick() <= time) {
    step(event::Tick{});
    settled_moved = true;
  }
  if (time < next_housekeeping) return;
  next_housekeeping = time + kHousekeepingInterval;
  note_answers();
  if (const auto error = kafka.take_client_error()) hint(*error);
  watch_trouble();
  trouble_note.show(trouble_seen ? std::optional(trouble_seen->figures) : std::nullopt);
  look_after_files();
  say_more_parked();
  show_figures();
}

}  // namespace txbox::relay
