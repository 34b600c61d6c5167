#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <txbox/kafka/producer.hpp>

#include "handles.hpp"

namespace txbox::kafka {

/// Producer::describe_topics on any client whose allow.auto.create.topics is false.
[[nodiscard]] std::vector<TopicDescription> describe_topics(rd_kafka_t* client, const std::vector<std::string>& topics,
                                                            std::chrono::milliseconds timeout);

}  // namespace txbox::kafka
