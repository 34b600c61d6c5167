#include "relay/engine/runner.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <variant>

#include <poll.h>

#include <txbox/base/check.hpp>
#include <txbox/base/clock.hpp>
#include <txbox/base/error.hpp>
#include <txbox/base/failpoint.hpp>
#include <txbox/base/random.hpp>
#include <txbox/kafka/errors.hpp>
#include <txbox/kafka/producer.hpp>
#include <txbox/store/outbox_queries.hpp>

#include "relay/engine/event_descriptor.hpp"
#include "relay/engine/kafka_side.hpp"
#include "relay/engine/open_database.hpp"
#include "relay/engine/store_worker.hpp"
#include "relay/engine/topic_describer.hpp"
#include "relay/engine/wake_watch.hpp"

namespace txbox::relay {

namespace {

using namespace std::chrono_literals;

constexpr auto kLongestSleep = 60s;
constexpr auto kWitnessInterval = 1s;
constexpr auto kHousekeepingInterval = 1s;
constexpr auto kHintInterval = 30s;
constexpr auto kReadRetry = 100ms;
// After the grace time the marks under way get this much more; a database that is locked for longer keeps them unsent.
constexpr auto kLastMarks = 2s;

using ReadWish = std::variant<command::Read, command::ReadReady, command::Reload>;

struct PendingRead {
  ReadWish wish;
  SteadyTime not_before{};
};

kafka::ProducerOptions producer_options(const RunnerOptions& options) {
  kafka::ProducerOptions producer;
  producer.properties = options.kafka;
  producer.window_records = 2 * static_cast<std::size_t>(options.core.window_rows);
  producer.log = options.log;
  return producer;
}

LogLevel level_of(int level) noexcept {
  constexpr std::array kLevels{LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error};
  return kLevels[static_cast<std::size_t>(std::clamp(level, 0, 3))];
}

/// One process serves several files, so the last words must say which one they are about.
Error naming(const std::string& path, const Error& error) {
  const std::string text = error.what();
  return {error.code(), text.find(path) == std::string::npos ? path + ": " + text : text};
}

}  // namespace

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
  void serve_reports();
  void serve_store();
  void serve_topics();
  void serve_wakes();
  void serve_reads();
  void serve_timers();
  void serve_drain();

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
  void carry_out(command::Say& wish) { say(level_of(wish.level), wish.text); }
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
  [[nodiscard]] SteadyTime next_deadline() const;
  [[nodiscard]] SteadyTime next_read() const;
  [[nodiscard]] static SteadyTime now() { return system_clock().steady_now(); }
  [[nodiscard]] ExitCode drain_verdict() const;

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
  int last_hint = 0;
  SteadyTime last_hint_time{};
  std::vector<std::int64_t> drain_goals;
  std::set<std::string> topics_to_hear_of;  ///< Rows waited for them at the start; a drain asks once whether they came.
  RunOutcome outcome;
};

Runner::State::State(RunnerOptions given)
    : options(std::move(given)),
      kafka(producer_options(options), options.id_header),
      describer(producer_options(options), wake),
      worker(wake, options.log),
      core(options.core, &kafka::partition_for_key, &kafka::describe) {}

Runner::Runner(RunnerOptions options) : state_(std::make_unique<State>(std::move(options))) {}

Runner::~Runner() = default;

RunOutcome Runner::run() { return state_->run(); }

bool Runner::State::open_databases() {
  for (const std::string& path : options.databases) {
    try {
      auto database =
          OpenDatabase::open({path, options.state_directory, options.standby, options.stop_descriptor}, options.log);
      if (!database) return false;
      databases.push_back(std::move(database));
    } catch (const Error& error) {
      throw naming(path, error);
    }
  }
  return true;
}

void Runner::State::begin() {
  for (const auto& database : databases) {
    worker.add_database(database->path(), database->witness_file());
    wakes.emplace_back(database->reader().data_version());
  }
  worker.start();
  if (options.drain_timeout) drain_deadline = now() + *options.drain_timeout;
  for (std::size_t index = 0; index < databases.size(); ++index) open_for_core(static_cast<DatabaseIndex>(index));
}

RunOutcome Runner::State::run() {
  if (!open_databases()) return outcome;
  begin();
  while (!stopped) {
    wait();
    serve_stop();
    serve_reports();
    serve_store();
    serve_topics();
    serve_wakes();
    serve_reads();
    serve_timers();
    serve_drain();
  }
  if (outcome.at_once) return outcome;
  worker.stop();
  worker.leave_whole();
  for (const auto& database : databases) {
    database->leave_whole();
    database->leave_witness(options.log);
  }
  outcome.published = core.status().sent;
  if (options.drain && outcome.code == ExitCode::ok) outcome.code = drain_verdict();
  return outcome;
}

void Runner::State::open_for_core(DatabaseIndex index) {
  store::OutboxReader& reader = databases[index]->reader();
  event::DatabaseOpened opened;
  opened.database = index;
  opened.progress = reader.progress();
  opened.held_lanes = reader.held_lanes();
  opened.next_due_ms = reader.next_due_ms();
  if (drain_goals.size() == index) {
    // Of no use to a reload, and a walk over every waiting row.
    opened.waiting_topics = reader.waiting_topics();
    drain_goals.push_back(opened.progress.newest_id);
    topics_to_hear_of.insert(opened.waiting_topics.begin(), opened.waiting_topics.end());
  }
  step(opened);
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

bool Runner::State::busy_now() const {
  if (more_reports || !reports.empty() || !answered.empty()) return true;
  return held_back.empty() && next_read() <= now();
}

SteadyTime Runner::State::next_read() const {
  SteadyTime next = SteadyTime::max();
  for (const PendingRead& read : reads) next = std::min(next, read.not_before);
  return next;
}

SteadyTime Runner::State::next_deadline() const {
  SteadyTime next =
      std::min({core.next_tick(), kafka.next_deadline(), next_housekeeping, stop_deadline, drain_deadline});
  for (const WakeWatch& watch : wakes) next = std::min(next, watch.next_look());
  if (held_back.empty()) next = std::min(next, next_read());
  return next;
}

void Runner::State::wait() {
  polled.clear();
  const auto add = [this](int descriptor) { polled.push_back({descriptor, POLLIN, 0}); };
  add(options.stop_descriptor);
  add(wake.descriptor());
  for (const int descriptor : kafka.report_descriptors()) add(descriptor);
  for (const auto& database : databases) add(database->watch().descriptor());

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

void Runner::State::serve_stop() {
  const int requests = options.take_stop_requests ? options.take_stop_requests() : 0;
  if (requests > 0 && (stopping || requests > 1)) {
    say(LogLevel::warning,
        "stopped at once; what Kafka has not acknowledged stays unsent and goes out at the next start");
    outcome.at_once = true;
    stopped = true;
    return;
  }
  if (requests > 0) {
    say(LogLevel::info, "stopping: waiting for what is in flight");
    stopping = true;
    stop_deadline = now() + options.grace;
    step(event::StopRequested{});
  }
  if (!stopping || now() < stop_deadline) return;
  if (deadline_told) {
    stopped = true;
    return;
  }
  deadline_told = true;
  stop_deadline = now() + kLastMarks;
  say(LogLevel::warning,
      "the grace time is over; what Kafka has not acknowledged stays unsent and goes out at the next start");
  step(event::StopDeadline{});
}

void Runner::State::serve_reports() {
  more_reports = !kafka.gather(reports);
  ready.clear();
  kafka.advance(now(), ready);
  if (!reports.empty()) {
    TXBOX_FAILPOINT("relay:after_report");
    serving.swap(reports);
    step(event::Reports{serving});
    serving.clear();
  }
  for (const event::ProducerReady& producer : ready) step(producer);
}

void Runner::State::serve_store() {
  worker.take_answers(store_answers);
  for (StoreAnswer& answer : store_answers) {
    if (const auto* failure = std::get_if<StoreFailure>(&answer)) {
      throw naming(databases[failure->database]->path(), failure->error);
    }
    settled_moved = true;
    if (const auto* marked = std::get_if<event::Marked>(&answer)) {
      wakes[marked->database].written();
      step(*marked);
    } else {
      auto& released = std::get<event::Released>(answer);
      released.next_due_ms = databases[released.database]->reader().next_due_ms();
      wakes[released.database].written();
      step(released);
    }
  }
  while (!answered.empty()) {
    const event::Released released = answered.front();
    answered.pop_front();
    step(released);
  }
}

void Runner::State::release_due(command::ReleaseDue& wish) {
  // Most of the time nothing is due, and then the write lock is none of our business.
  const auto due = databases[wish.database]->reader().next_due_ms();
  if (due && *due <= to_ms(system_clock().wall_now())) return submit(wish);
  answered.push_back({wish.database, 0, false, due, 0});
}

void Runner::State::use_cluster(const std::string& id) {
  if (id.empty() || id == cluster_id) return;
  if (!cluster_id.empty())
    say(LogLevel::warning, "the brokers now answer as another cluster: receipts name it from here on");
  cluster_id = id;
  for (std::size_t index = 0; index < databases.size(); ++index) {
    worker.submit(static_cast<DatabaseIndex>(index), UseCluster{cluster_id});
  }
}

void Runner::State::serve_topics() {
  describer.take_answers(topic_answers);
  for (TopicAnswer& answer : topic_answers) {
    use_cluster(answer.cluster_id);
    if (answer.hint) hint(*answer.hint);
    for (auto& [topic, facts] : answer.topics) {
      // A receipt must name its cluster, so a topic is of no use before the cluster's id is known.
      if (cluster_id.empty() && facts.state == TopicFacts::State::usable) {
        facts.state = TopicFacts::State::unreachable;
        facts.reason = "the cluster's id is not known yet";
      }
      kafka.know_topic(topic, facts);
      held_back.push_back({std::move(topic), std::move(facts)});
    }
  }
  if (held_back.empty() || !kafka.fit()) return;
  std::vector<event::TopicDescribed> described;
  described.swap(held_back);
  for (const event::TopicDescribed& topic : described) {
    step(topic);
    if (topic.facts.state != TopicFacts::State::unreachable) topics_to_hear_of.erase(topic.topic);
  }
  settled_moved = true;
}

void Runner::State::serve_wakes() {
  const SteadyTime time = now();
  for (std::size_t index = 0; index < wakes.size(); ++index) {
    if (wakes[index].next_look() > time) continue;
    const auto verdict = wakes[index].look(time, databases[index]->reader().data_version());
    if (verdict) step(event::Woken{static_cast<DatabaseIndex>(index), verdict->changed_by_others});
  }
}

void Runner::State::serve_reads() {
  if (!held_back.empty()) return;
  const SteadyTime time = now();
  const auto next =
      std::find_if(reads.begin(), reads.end(), [time](const PendingRead& read) { return read.not_before <= time; });
  if (next == reads.end()) return;
  PendingRead read = *next;
  reads.erase(next);
  try {
    read_one(read.wish);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::busy) {
      throw naming(databases[std::visit([](const auto& wish) { return wish.database; }, read.wish)]->path(), error);
    }
    read.not_before = now() + kReadRetry;
    reads.push_back(read);
  }
}

void Runner::State::read_one(const ReadWish& wish) {
  if (const auto* reload = std::get_if<command::Reload>(&wish)) return open_for_core(reload->database);
  if (const auto* read = std::get_if<command::Read>(&wish)) {
    const store::ReadResult result = databases[read->database]->read_after(*read, batch);
    step(event::RowsRead{read->database, read->after, batch.rows(), result.exhausted, result.newest_id}, batch.rows());
  } else {
    const auto& ready_read = std::get<command::ReadReady>(wish);
    const store::ReadResult result = databases[ready_read.database]->read_ready(ready_read, batch);
    step(event::ReadyRead{ready_read.database, ready_read.after, batch.rows(), result.exhausted}, batch.rows());
  }
  settled_moved = true;
}

void Runner::State::hint(const kafka::ClientError& error) {
  const SteadyTime time = now();
  if (error.error == last_hint && time - last_hint_time < kHintInterval) return;
  last_hint = error.error;
  last_hint_time = time;
  say(LogLevel::warning, "Kafka: " + error.text + "; tried again until it works");
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

void Runner::State::serve_drain() {
  if (!options.drain || stopping) return;
  const SteadyTime time = now();
  bool done = false;
  if (settled_moved) {
    settled_moved = false;
    const CoreStatus status = core.status();
    const std::vector<std::int64_t>& settled = status.settled_through;
    done = !status.ready_pending && topics_to_hear_of.empty() && settled.size() == drain_goals.size();
    for (std::size_t index = 0; done && index < settled.size(); ++index) done = settled[index] >= drain_goals[index];
  }
  if (!done && time < drain_deadline) return;
  if (!done) {
    say(LogLevel::error, "the drain did not end within its time; what is left goes out at the next run");
    outcome.code = ExitCode::try_later;
  }
  outcome.drained = done;
  stopping = true;
  stop_deadline = time + options.grace;
  drain_deadline = SteadyTime::max();
  step(event::StopRequested{});
}

ExitCode Runner::State::drain_verdict() const {
  ExitCode verdict = ExitCode::ok;
  for (const auto& database : databases) {
    store::OpenOptions how;
    how.purpose = store::OpenPurpose::reader;
    const auto connection = store::Connection::open(database->path(), how);
    const store::OutboxCounts counts = store::count_outbox(connection.handle());
    if (counts.parked == 0 && counts.blocked == 0 && counts.waiting == 0) continue;
    verdict = ExitCode::check_failed;
    say(LogLevel::warning, database->path() + ": " + std::to_string(counts.parked) + " parked, " +
                               std::to_string(counts.blocked) + " blocked, " + std::to_string(counts.waiting) +
                               " waiting for their topic; see `outbox-relay ls`");
  }
  return verdict;
}

}  // namespace txbox::relay
