#include "relay/engine/topic_command.hpp"

#include <algorithm>

namespace txbox::relay {

namespace {
// One of three may fail, and what was acknowledged is on the two others.
constexpr std::int32_t kReplicas = 3;
}  // namespace

std::string create_topic_command(const std::string& topic, const std::string& brokers, std::int32_t count) {
  const std::string server = brokers.substr(0, brokers.find(','));
  const std::int32_t replicas = count > 0 ? std::min(count, kReplicas) : kReplicas;
  std::string text = "kafka-topics.sh --bootstrap-server " + (server.empty() ? "HOST:9092" : server) +
                     " --create --topic " + topic + " --partitions 6 --replication-factor " + std::to_string(replicas);
  if (replicas > 1) text += " --config min.insync.replicas=" + std::to_string(replicas - 1);
  return text;
}

}  // namespace txbox::relay
