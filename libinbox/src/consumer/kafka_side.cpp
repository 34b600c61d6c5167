#include "libinbox/src/consumer/kafka_side.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <txbox/kafka/errors.hpp>

#include "libinbox/src/consumer/event_identity.hpp"

namespace txbox::inbox::consumer {

using namespace std::chrono_literals;

namespace {

// A request that takes longer is tried again between polls: the group must go on hearing of this member.
constexpr auto kLoadWait = 2s;
// Each partition has a leader of its own, which may be away: it gets so long of that time, and at the end of it so
// much.
constexpr auto kLoadWaitOfOne = 700ms;
constexpr auto kLeastLoadWait = 50ms;
// The last commits of an assignment, all of them together: the others of the group wait meanwhile.
constexpr auto kCommitWait = 5s;
constexpr auto kClusterWait = 90ms;
constexpr auto kSilenceSaidAfter = 2s;
constexpr auto kHintInterval = 30s;

Place to_core(const kafka::Place& place) { return {.topic = place.topic, .partition = place.partition}; }

kafka::ConsumerOptions consumer_options(const ConsumerOptions& options) {
  return {.group = options.group, .properties = options.kafka, .log = options.log};
}

}  // namespace

KafkaSide::KafkaSide(const ConsumerOptions& options, const std::vector<std::string>& topics)
    : options_(options), topics_(topics), consumer_(consumer_options(options)) {}

std::string KafkaSide::join(const std::stop_token& stop) {
  bool said = false;
  const SteadyTime began = system_clock().steady_now();
  while (!stop.stop_requested()) {
    std::string cluster_id = consumer_.cluster_id(kClusterWait);
    if (!cluster_id.empty()) {
      if (said && options_.log) options_.log(LogLevel::info, "Kafka answers");
      consumer_.subscribe(topics_);
      return cluster_id;
    }
    const bool long_silence = system_clock().steady_now() - began >= kSilenceSaidAfter;
    if (long_silence && !std::exchange(said, true) && options_.log) {
      options_.log(LogLevel::warning, "Kafka does not answer yet; waiting for it");
    }
    Message none;
    static_cast<void>(poll(0ms, none));  // The reason, where the client knows one.
  }
  return {};
}

std::optional<Polled> KafkaSide::poll(std::chrono::milliseconds timeout, Message& message) {
  auto polled = consumer_.poll(timeout);
  if (!polled) return std::nullopt;
  return std::visit(
      [this, &message](auto& what) -> std::optional<Polled> {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, kafka::consumer_event::Record>) {
          fill(message, what.record);
          return Filled{};
        } else if constexpr (std::is_same_v<What, kafka::consumer_event::Assigned>) {
          event::Assigned assigned;
          for (const kafka::Place& place : what.places) assigned.places.push_back(to_core(place));
          return Event(std::move(assigned));
        } else if constexpr (std::is_same_v<What, kafka::consumer_event::Revoked>) {
          return Event(event::Revoked{.lost = what.lost});
        } else if constexpr (std::is_same_v<What, kafka::consumer_event::EndReached>) {
          return Event(event::EndReached{.place = to_core(what.place), .offset = what.offset});
        } else if constexpr (std::is_same_v<What, kafka::consumer_event::OutOfRange>) {
          return Event(event::OutOfRange{.place = to_core(what.place), .reason = what.reason});
        } else if constexpr (std::is_same_v<What, kafka::consumer_event::CommitFailed>) {
          return Event(event::KafkaCommitFailed{.place = to_core(what.commit.place),
                                                .offset = what.commit.offset,
                                                .reason = kafka::describe(what.error)});
        } else if constexpr (std::is_same_v<What, kafka::consumer_event::Fatal>) {
          throw Error(ErrorCode::failure, "this member of group '" + options_.group +
                                              "' is at its end: " + what.reason +
                                              " (is another process running with its group.instance.id?)");
        } else {
          if constexpr (std::is_same_v<What, kafka::consumer_event::PlaceError>) {
            hint(what.error, what.place.topic, "topic '" + what.place.topic + "' cannot be read: " + what.reason);
          } else if constexpr (std::is_same_v<What, kafka::consumer_event::Trouble>) {
            hint(what.error, {}, what.text);
          } else {
            hint(0, {},
                 "max.poll.interval.ms passed without a poll, so that the group goes on without this member: the "
                 "handlers are too slow for it, or the process stood still");
          }
          return std::nullopt;
        }
      },
      *polled);
}

/// Whatever the message held before: only its memory stays.
void KafkaSide::fill(Message& message, const kafka::ConsumedRecord& record) const {
  message.topic = record.topic();
  message.partition = record.partition();
  message.offset = record.offset();
  message.timestamp_ms = record.timestamp_ms();
  message.key.assign(record.key());
  message.payload.assign(record.payload());
  record.copy_headers(message.headers);
  message.event_id = event_id_in(message.headers, options_.id_headers).value_or(std::string_view());
  message.attempt = 1;
}

void KafkaSide::hint(int error, const std::string& topic, const std::string& text) {
  const SteadyTime now = system_clock().steady_now();
  const auto [last, first] = hinted_.try_emplace(std::pair(error, topic), now);
  if (!first && now - last->second < kHintInterval) return;
  last->second = now;
  if (options_.log) options_.log(LogLevel::warning, text);
}

void KafkaSide::load(std::vector<event::PositionsLoaded::Loaded>& places) {
  std::vector<kafka::Place> asked;
  asked.reserve(places.size());
  for (const event::PositionsLoaded::Loaded& loaded : places) asked.push_back(to_kafka(loaded.place));
  const std::vector<kafka::CommittedOffset> committed = consumer_.committed(asked, kLoadWait);
  for (std::size_t at = 0; at < places.size(); ++at) {
    if (committed[at].offset >= 0) places[at].committed = {committed[at].offset, committed[at].metadata};
  }
  // Those that did not answer the last time come last: they may use up the time, and must not use up the others'.
  std::stable_partition(places.begin(), places.end(), [this](const event::PositionsLoaded::Loaded& loaded) {
    return !silent_.contains(loaded.place);
  });
  std::optional<Error> last;
  const SteadyTime deadline = system_clock().steady_now() + kLoadWait;
  const auto first_silent = std::stable_partition(places.begin(), places.end(), [&](auto& loaded) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - system_clock().steady_now());
    // One that answers does so at once, so that each of the others is left a chance.
    const auto wait = std::clamp<std::chrono::milliseconds>(left, kLeastLoadWait, kLoadWaitOfOne);
    try {
      const auto marks = consumer_.watermarks(to_kafka(loaded.place), wait);
      loaded.low = marks.low;
      loaded.high = marks.high;
      silent_.erase(loaded.place);
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::broker_unavailable) throw;
      last = error;
      silent_.insert(loaded.place);
      return false;
    }
  });
  places.erase(first_silent, places.end());
  if (places.empty() && last) throw *last;
}

void KafkaSide::assign(const command::Assign& assign) {
  std::vector<kafka::Position> positions;
  for (const command::Assign::One& one : assign.places) {
    positions.push_back({.place = to_kafka(one.place), .offset = one.offset});
  }
  consumer_.assign(positions);
}

void KafkaSide::commit(const command::CommitKafka& commit, std::vector<Event>& answers) {
  const SteadyTime deadline = system_clock().steady_now() + kCommitWait;
  for (const command::CommitKafka::One& one : commit.places) {
    const kafka::CommittedOffset offset{.place = to_kafka(one.place), .offset = one.offset, .metadata = one.metadata};
    if (!commit.wait) {
      consumer_.commit(offset);
      continue;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - system_clock().steady_now());
    const int error = consumer_.commit_and_wait(offset, std::max(left, 1ms));
    if (error == 0) {
      answers.emplace_back(event::KafkaCommitted{.place = one.place, .offset = one.offset});
    } else {
      answers.emplace_back(
          event::KafkaCommitFailed{.place = one.place, .offset = one.offset, .reason = kafka::describe(error)});
    }
  }
}

}  // namespace txbox::inbox::consumer
