#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <txbox/kafka/producer.hpp>

#include "relay/doctor/check.hpp"

namespace txbox::relay::doctor {

/// Topics by name, each with the largest record that a file allows for it; 0 where nothing is known of that.
using TopicLimits = std::map<std::string, std::int64_t>;

/// Asks the brokers, for some seconds at most, and publishes nothing. Without bootstrap.servers all is not checked.
[[nodiscard]] Checks examine_kafka(const kafka::Properties& properties, const TopicLimits& topics);

/// The single ones, as functions of what Kafka answered. `brokers` is for the text of a remedy.
[[nodiscard]] Check topic_is_there(const kafka::TopicDescription& topic, const std::string& brokers);
[[nodiscard]] Check topic_takes_records(const kafka::TopicDescription& topic, std::int64_t max_record_bytes);
[[nodiscard]] Check topic_replicas(const kafka::TopicDescription& topic);
[[nodiscard]] Check topic_retention(const kafka::TopicDescription& topic);
/// What a client error says about the brokers.
[[nodiscard]] Check broker_trouble(const kafka::ClientError& error);

}  // namespace txbox::relay::doctor
