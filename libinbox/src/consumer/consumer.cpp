#include <txbox/inbox/consumer.hpp>

#include <algorithm>
#include <atomic>
#include <utility>

#include <txbox/base/random.hpp>
#include <txbox/kafka/consumer.hpp>
#include <txbox/store/connection.hpp>
#include <txbox/store/file_guard.hpp>
#include <txbox/store/schema.hpp>

#include "libinbox/src/consumer/core.hpp"
#include "libinbox/src/consumer/database_side.hpp"
#include "libinbox/src/consumer/loop.hpp"

namespace txbox::inbox {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLongestTopic = 249;
// While the loop waits for the lock it does not poll, so that it waits in short pieces.
constexpr auto kBusyDeadline = 5s;
constexpr auto kBusyDeadlineInLoop = 1s;

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::configuration, "consumer: " + text); }

ConsumerOptions checked(ConsumerOptions options) {
  if (options.database.empty()) refuse("database names no file");
  if (options.group.empty() || options.group.size() > 255 || options.group.find('\0') != std::string::npos) {
    refuse("group must have 1 to 255 bytes");
  }
  if (options.attempts < 1) refuse("attempts must be at least 1");
  if (options.retry_delay < 0ms || options.retry_delay_max < options.retry_delay) {
    refuse("retry_delay must not be negative, and retry_delay_max not below it");
  }
  if (options.id_headers.empty() && options.missing_id != MissingId::coordinates) {
    refuse("id_headers is empty, so that no message would have an event id");
  }
  if (options.batch_messages < 1) refuse("batch_messages must be at least 1");
  if (options.batch_lock_hold <= 0ms) refuse("batch_lock_hold must be above 0");
  if (options.kafka_commit_interval < 0ms) refuse("kafka_commit_interval must not be negative");
  kafka::check_consumer_properties(options.kafka);
  const bool has_brokers = std::any_of(options.kafka.begin(), options.kafka.end(), [](const auto& property) {
    return property.first == "bootstrap.servers" || property.first == "metadata.broker.list";
  });
  if (!has_brokers) refuse("kafka has no bootstrap.servers");
  return options;
}

store::Connection open(const std::string& path) {
  store::make_checked_file(path);
  store::Connection connection =
      store::Connection::open(path, {.purpose = store::OpenPurpose::consumer, .busy_deadline = kBusyDeadline});
  store::install(connection.handle(), {.outbox = false});
  return connection;
}

bool is_topic(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= kLongestTopic && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), allowed);
}

}  // namespace

struct Consumer::State {
  explicit State(ConsumerOptions given)
      : options(checked(std::move(given))), connection(open(options.database)), database(connection, options) {}

  void run(const std::stop_token& stop, bool drain);
  [[nodiscard]] consumer::CoreOptions core_options(bool drain) const;
  void publish(const consumer::CoreStatus& status);
  [[nodiscard]] Counts counts() const noexcept;

  ConsumerOptions options;
  store::Connection connection;
  consumer::DatabaseSide database;
  consumer::Subscriptions subscriptions;
  bool running = false;

  Counts before;  ///< Of the runs that have ended.
  std::atomic<std::int64_t> applied{0}, duplicates{0}, retried{0}, to_outbox{0}, parked{0}, conflicts{0};
};

consumer::CoreOptions Consumer::State::core_options(bool drain) const {
  const store::StoreIdentity identity = store::read_identity(connection.handle());
  return {.group = options.group,
          .store_uuid = identity.store_uuid,
          .incarnation = identity.incarnation,
          .attempts = options.attempts,
          .retry = {options.retry_delay, options.retry_delay_max},
          .missing_id = options.missing_id,
          .foreign_store = options.foreign_store,
          .group_reset = options.group_reset,
          .offset_out_of_range = options.offset_out_of_range,
          .no_committed_offset = options.no_committed_offset,
          .batch_messages = options.batch_messages,
          .batch_lock_hold = options.batch_lock_hold,
          .kafka_commit_interval = options.kafka_commit_interval,
          .drain = drain,
          .seed = random_seed()};
}

void Consumer::State::publish(const consumer::CoreStatus& status) {
  applied = before.applied + status.applied;
  duplicates = before.duplicates + status.duplicates;
  retried = before.retried + status.retried;
  to_outbox = before.dead_letters_to_outbox + status.dead_letters_to_outbox;
  parked = before.dead_letters_parked + status.dead_letters_parked;
  conflicts = before.conflicts + status.conflicts;
}

void Consumer::State::run(const std::stop_token& stop, bool drain) {
  if (running) throw Error(ErrorCode::invalid_argument, "consumer: run() was called by a handler of this consumer");
  if (subscriptions.empty()) throw Error(ErrorCode::invalid_argument, "consumer: no topic: call on() before run()");
  database.check_ready();
  struct Running {
    State& state;
    explicit Running(State& of) : state(of) {
      state.running = true;
      state.connection.set_busy_deadline(kBusyDeadlineInLoop);
    }
    ~Running() {
      state.running = false;
      state.connection.set_busy_deadline(kBusyDeadline);
    }
  };
  const Running guard(*this);
  consumer::Loop loop(options, subscriptions, database, core_options(drain),
                      [this](const consumer::CoreStatus& status) { publish(status); });
  struct Counted {  // Whatever ends the run.
    State& state;
    ~Counted() { state.before = state.counts(); }
  };
  const Counted counted{*this};
  loop.run(stop);
}

Consumer::Counts Consumer::State::counts() const noexcept {
  Counts counts;
  counts.applied = applied;
  counts.duplicates = duplicates;
  counts.retried = retried;
  counts.dead_letters_to_outbox = to_outbox;
  counts.dead_letters_parked = parked;
  counts.dead_lettered = counts.dead_letters_to_outbox + counts.dead_letters_parked;
  counts.conflicts = conflicts;
  return counts;
}

Consumer::Consumer(ConsumerOptions options) : state_(std::make_unique<State>(std::move(options))) {}

Consumer::~Consumer() = default;

sqlite3* Consumer::database() const noexcept { return state_->connection.handle(); }

void Consumer::on(std::string topic, Handler handler, Prepare prepare) {
  const auto wrong = [&topic](const std::string& why) {
    throw Error(ErrorCode::invalid_argument, "consumer: on('" + topic + "'): " + why);
  };
  if (state_->running) wrong("must come before run()");
  if (!is_topic(topic)) wrong("a topic's name is 1 to 249 of [A-Za-z0-9._-]");
  if (!handler) wrong("no handler");
  if (state_->subscriptions.contains(topic)) wrong("the topic has a handler already");
  state_->subscriptions.emplace(std::move(topic), consumer::Subscription{std::move(handler), std::move(prepare)});
}

void Consumer::run(const std::stop_token& stop) { state_->run(stop, false); }

void Consumer::drain(const std::stop_token& stop) { state_->run(stop, true); }

Consumer::Counts Consumer::counts() const noexcept { return state_->counts(); }

}  // namespace txbox::inbox
