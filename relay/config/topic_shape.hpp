#pragma once

#include <optional>
#include <string_view>

#include <txbox/kafka/producer.hpp>

namespace txbox::relay {

/// PARTITIONS[:REPLICAS], each at least 1: "6", "6:3". Without replicas the brokers' default counts.
[[nodiscard]] std::optional<kafka::TopicShape> parse_topic_shape(std::string_view text) noexcept;

}  // namespace txbox::relay
