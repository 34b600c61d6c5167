#include "relay/engine/outcome.hpp"

#include <txbox/kafka/errors.hpp>

namespace txbox::relay {

ReportKind classify(int error, kafka::Persistence persistence) noexcept {
  if (error == 0 || persistence == kafka::Persistence::persisted) return ReportKind::sent;
  if (persistence == kafka::Persistence::possibly_persisted) return ReportKind::unknown;
  switch (kafka::scope_of(error)) {
    case kafka::ErrorScope::record: return ReportKind::record_refused;
    case kafka::ErrorScope::topic: return ReportKind::topic_refused;
    case kafka::ErrorScope::none:
    case kafka::ErrorScope::authentication:
    case kafka::ErrorScope::tls:
    case kafka::ErrorScope::transport:
    case kafka::ErrorScope::producer:
    case kafka::ErrorScope::other: return ReportKind::unknown;
  }
  return ReportKind::unknown;
}

TopicFacts facts_of(const kafka::TopicDescription& description) {
  TopicFacts facts;
  facts.partitions = description.partitions;
  // A limit that was only guessed must refuse no row: Kafka has the last word on what it takes.
  facts.message_bytes_max = description.limits_known ? description.message_bytes_max : 0;
  facts.compacted = description.compacted;
  facts.min_insync_replicas = static_cast<std::int32_t>(description.min_insync_replicas.value_or(0));
  for (const kafka::TopicDescription::Replicas& replicas : description.by_partition) {
    facts.by_partition.push_back({replicas.in_sync, replicas.assigned});
  }
  const kafka::ErrorScope scope = kafka::scope_of(description.error);
  if (scope == kafka::ErrorScope::none && description.partitions > 0) return facts;
  if (description.error == kafka_error::kTopicAuthorizationFailed) {
    facts.state = TopicFacts::State::denied;
  } else if (scope == kafka::ErrorScope::topic) {
    facts.state = TopicFacts::State::missing;
  } else {
    facts.state = TopicFacts::State::unreachable;
  }
  facts.reason =
      scope == kafka::ErrorScope::none ? "the broker named no partition" : kafka::describe(description.error);
  return facts;
}

}  // namespace txbox::relay
