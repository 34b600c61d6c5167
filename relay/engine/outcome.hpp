#pragma once

#include <txbox/kafka/producer.hpp>

#include "relay/engine/core.hpp"

namespace txbox::relay {

/// Error numbers that the relay itself gives or acts on (librdkafka's rd_kafka_resp_err_t, which for numbers
/// above zero is Kafka's protocol). Everything else is judged by kafka::scope_of.
namespace kafka_error {
inline constexpr int kPurgedInQueue = -152;  ///< _PURGE_QUEUE: never handed to a broker.
inline constexpr int kQueueFull = -184;      ///< _QUEUE_FULL: serve reports and try again.
inline constexpr int kTopicAuthorizationFailed = 29;
inline constexpr int kTopicAlreadyExists = 36;
inline constexpr int kInvalidRecord = 87;
}  // namespace kafka_error

/// One of the three outcomes (docs/architecture.md), judged by status before code: whatever was persisted is sent,
/// whatever may be persisted is unknown however permanent its code looks, and only a record that is certainly
/// not in the log can be refused. Pure.
[[nodiscard]] ReportKind classify(int error, kafka::Persistence persistence) noexcept;

/// What a description means for the topic. Pure.
[[nodiscard]] TopicFacts facts_of(const kafka::TopicDescription& description);

}  // namespace txbox::relay
