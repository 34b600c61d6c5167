#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <txbox/base/clock.hpp>
#include <txbox/inbox/consumer_options.hpp>
#include <txbox/kafka/consumer.hpp>

#include "libinbox/src/consumer/core.hpp"

namespace txbox::inbox::consumer {

/// The caller's message was filled with a record.
struct Filled {};
/// A record, or what the core is told of instead of one.
using Polled = std::variant<Filled, Event>;

/// What the core's commands do to Kafka, and Kafka's events in the core's words. Hints about silence (a broker that is
/// away, a topic that is missing) go to the log, each once in half a minute. One thread.
class KafkaSide {
 public:
  /// Borrows the options. Throws configuration.
  KafkaSide(const ConsumerOptions& options, const std::vector<std::string>& topics);

  /// Waits for the cluster to name itself, through an outage too, then joins the group; empty when a stop was asked
  /// for.
  [[nodiscard]] std::string join(const std::stop_token& stop);

  /// At most one thing, a record goes into `message`; nothing after `timeout`, or where an event was words for the log
  /// alone. Throws where this member is at its end.
  [[nodiscard]] std::optional<Polled> poll(std::chrono::milliseconds timeout, Message& message);

  /// Kafka's part of event::PositionsLoaded. Those whose leader does not answer are taken out of `places`, whose order
  /// may change. Throws broker_unavailable where none is left.
  void load(std::vector<event::PositionsLoaded::Loaded>& places);
  void assign(const command::Assign& assign);
  void unassign() { consumer_.unassign(); }
  void pause(const Place& place) { consumer_.pause(to_kafka(place)); }
  void resume(const Place& place) { consumer_.resume(to_kafka(place)); }
  /// REQUIRES: everything that it speaks of is durable. Answers are appended.
  void commit(const command::CommitKafka& commit, std::vector<Event>& answers);

 private:
  [[nodiscard]] static kafka::Place to_kafka(const Place& place) {
    return {.topic = place.topic, .partition = place.partition};
  }
  void fill(Message& message, const kafka::ConsumedRecord& record) const;
  void hint(int error, const std::string& topic, const std::string& text);

  const ConsumerOptions& options_;
  std::vector<std::string> topics_;
  kafka::Consumer consumer_;
  std::set<Place> silent_;  ///< Their leaders did not answer when they were asked last.
  std::map<std::pair<int, std::string>, SteadyTime> hinted_;  ///< By error and topic: as many as there can be.
};

}  // namespace txbox::inbox::consumer
