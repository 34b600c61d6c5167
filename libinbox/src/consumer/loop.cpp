#include "libinbox/src/consumer/loop.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include <txbox/base/check.hpp>
#include <txbox/base/clock.hpp>
#include <txbox/base/failpoint.hpp>

#include "libinbox/src/consumer/database_trouble.hpp"
#include "libinbox/src/consumer/error_text.hpp"
#include "libinbox/src/consumer/event_identity.hpp"

namespace txbox::inbox::consumer {

using namespace std::chrono_literals;

namespace {

// A stop is noticed between polls.
constexpr std::chrono::milliseconds kLongestPoll = 50ms;
constexpr std::chrono::milliseconds kBetweenTries = 100ms;

std::vector<std::string> topics_of(const Subscriptions& subscriptions) {
  std::vector<std::string> topics;
  for (const auto& [topic, subscription] : subscriptions) topics.push_back(topic);
  return topics;
}

}  // namespace

Loop::Loop(const ConsumerOptions& options, const Subscriptions& subscriptions, DatabaseSide& database,
           const CoreOptions& core, std::function<void(const CoreStatus&)> publish)
    : options_(options),
      subscriptions_(subscriptions),
      database_(database),
      kafka_(options, topics_of(subscriptions)),
      core_(core),
      publish_(std::move(publish)) {}

void Loop::run(const std::stop_token& stop) {
  try {
    if (!join(stop)) return;
    bool stopping = false;
    while (!ended_) {
      if (stop.stop_requested() && !std::exchange(stopping, true)) {
        step(event::StopRequested{});
      } else {
        poll_once();
      }
    }
  } catch (...) {
    database_.roll_back();
    throw;
  }
  if (failure_) throw *failure_;
}

bool Loop::join(const std::stop_token& stop) {
  cluster_id_ = kafka_.join(stop);
  if (cluster_id_.empty()) return false;
  // Each try waits for the lock as long as the connection does; a full disk answers at once.
  std::mutex mutex;
  std::condition_variable_any never;
  bool said = false;
  while (!database_.use_cluster(cluster_id_)) {
    if (!std::exchange(said, true)) say(LogLevel::warning, "the database is locked, or its disk full; waiting for it");
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, kBetweenTries, [] { return false; });
    if (stop.stop_requested()) return false;
  }
  return true;
}

void Loop::poll_once() {
  // What is there is taken without asking clocks and partitions how long it may be waited for.
  auto polled = kafka_.poll(0ms, messages_.spare());
  if (!polled) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(core_.next_tick() - system_clock().steady_now());
    if (left > 0ms) polled = kafka_.poll(std::min<std::chrono::milliseconds>(left, kLongestPoll), messages_.spare());
  }
  if (!polled) return step(event::PollIdle{});
  if (std::holds_alternative<Filled>(*polled)) return arrive();
  step(std::move(std::get<Event>(*polled)));
}

/// The spare message was filled.
void Loop::arrive() {
  Message& message = messages_.spare();
  if (message.event_id.empty() && options_.missing_id == MissingId::coordinates) {
    message.event_id = event_id_of_place(cluster_id_, message);
  }
  if (newest_topic_.text() != message.topic) newest_topic_ = message.topic;
  const event::Arrived arrived{.place = {.topic = newest_topic_, .partition = message.partition},
                               .offset = message.offset,
                               .bytes = bytes_of(message),
                               .has_id = !message.event_id.empty(),
                               .has_prepare = static_cast<bool>(subscription_of(newest_topic_).prepare)};
  messages_.add_spare(arrived.place);
  step(arrived);
}

const Subscription& Loop::subscription_of(InternedName topic) {
  if (topic != found_topic_) {
    const auto found = subscriptions_.find(topic);
    TXBOX_CHECK(found != subscriptions_.end());
    found_topic_ = topic;
    found_ = &found->second;
  }
  return *found_;
}

/// Carries out what the core asks for, and tells it the answers, until it asks for nothing more.
void Loop::step(Event event) {
  events_.clear();
  events_.push_back(std::move(event));
  const SteadyTime began = system_clock().steady_now();
  const WallTime wall = system_clock().wall_now();
  for (std::size_t at = 0; at < events_.size() && !ended_; ++at) {
    commands_.clear();
    const SteadyTime now = at == 0 ? began : system_clock().steady_now();
    core_.step(now, wall + std::chrono::floor<std::chrono::milliseconds>(now - began), events_[at], commands_);
    for (Command& command : commands_) {
      std::visit([this](auto& wish) { carry_out(wish); }, command);
    }
    std::move(answers_.begin(), answers_.end(), std::back_inserter(events_));
    answers_.clear();
    if (std::holds_alternative<event::Closed>(events_[at])) publish_(core_.status());
  }
}

void Loop::carry_out(command::Load& load) {
  event::PositionsLoaded loaded{.round = load.round, .places = {}};
  for (const Place& place : load.places) loaded.places.emplace_back().place = place;
  try {
    for (event::PositionsLoaded::Loaded& place : loaded.places) database_.load(place);
    kafka_.load(loaded.places);
  } catch (const Error& error) {
    if (!passes_by_itself(error.code()) && error.code() != ErrorCode::broker_unavailable) throw;
    answers_.emplace_back(event::LoadFailed{.round = load.round, .reason = error.what()});
    return;
  }
  answers_.emplace_back(std::move(loaded));
}

void Loop::carry_out(command::GiveUp& give_up) {
  try {
    database_.give_up(give_up);
  } catch (const Error& error) {
    say(LogLevel::warning, std::string("partitions could not be given up in order: ") + error.what());
  }
}

void Loop::carry_out(command::Prepare& prepare) {
  Message& message = messages_.at(prepare.place, prepare.offset);
  message.attempt = prepare.attempt;
  event::Prepared prepared;
  try {
    subscription_of(prepare.place.topic).prepare(message);
  } catch (...) {
    prepared = {.failed = true, .reason = reason_of(std::current_exception())};
  }
  answers_.emplace_back(std::move(prepared));
}

void Loop::carry_out(command::Apply& apply) {
  Message& message = messages_.at(apply.place, apply.offset);
  message.attempt = apply.attempt;
  answers_.push_back(database_.apply(message, subscription_of(apply.place.topic).handler));
}

void Loop::carry_out(command::DeadLetter& letter) {
  answers_.push_back(database_.dead_letter(letter, messages_.at(letter.place, letter.offset)));
}

void Loop::carry_out(command::Close& close) { answers_.push_back(database_.close(close)); }

void Loop::carry_out(command::CommitKafka& commit) {
  database_.barrier();
  TXBOX_FAILPOINT("consumer:before_kafka_commit");
  kafka_.commit(commit, answers_);
  TXBOX_FAILPOINT("consumer:after_kafka_commit");
}

void Loop::carry_out(command::Fail& fail) {
  failure_.emplace(fail.code, fail.text);
  ended_ = true;
}

}  // namespace txbox::inbox::consumer
