#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <txbox/kafka/producer.hpp>

#include "relay/engine/core.hpp"
#include "relay/engine/event_descriptor.hpp"
#include "relay/engine/liveness.hpp"

namespace txbox::relay {

/// What one question for topics brought.
struct TopicAnswer {
  std::string cluster_id;  ///< Empty when the broker was not reached.
  std::vector<std::pair<std::string, TopicFacts>> topics;
  std::optional<kafka::ClientError> hint;  ///< Why the broker was not reached, when the client knows.
  std::vector<std::string> created;        ///< Topics that were made.
};

/// Asks the broker what topics allow, on a thread and a client of its own, so that publishing and signals never
/// wait for a broker that does not answer. describe(), use(), take_answers() and stop() belong to one thread; each
/// answer signals `wake`. At most one question is under way; topics asked for meanwhile are asked together next.
class TopicDescriber {
 public:
  /// Throws configuration when librdkafka refuses the properties. With `create` a topic that is missing is made.
  TopicDescriber(const kafka::ProducerOptions& options, const EventDescriptor& wake, Liveness& liveness,
                 std::optional<kafka::TopicShape> create = std::nullopt);
  TopicDescriber(const TopicDescriber&) = delete;
  TopicDescriber& operator=(const TopicDescriber&) = delete;
  ~TopicDescriber();

  void describe(const std::vector<std::string>& topics);
  /// Asks with a client of these options from the next question on; checked before.
  void use(const kafka::ProducerOptions& options);
  void take_answers(std::vector<TopicAnswer>& out);
  /// Of the client that asks: the one that is there before the first row.
  [[nodiscard]] kafka::ConnectionTally connection_tally() const;
  /// Waits for the question under way, which has a deadline; twice is fine.
  void stop() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::relay
