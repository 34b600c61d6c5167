#pragma once

#include <cstdint>
#include <string>

namespace txbox::relay {

/// The command of Kafka's own tools that makes a topic, for a person to copy. `brokers`: bootstrap.servers. `count`: so
/// many brokers answered, which bounds the replicas; 0: not known.
[[nodiscard]] std::string create_topic_command(const std::string& topic, const std::string& brokers,
                                               std::int32_t count = 0);

}  // namespace txbox::relay
