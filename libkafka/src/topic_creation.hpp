#pragma once

#include <txbox/kafka/producer.hpp>

#include "handles.hpp"

namespace txbox::kafka {

/// Producer::create_topics on any client.
[[nodiscard]] std::vector<TopicCreation> create_topics(rd_kafka_t* client, const std::vector<std::string>& topics,
                                                       TopicShape shape, std::chrono::milliseconds timeout);

}  // namespace txbox::kafka
