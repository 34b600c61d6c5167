#include "topic_description.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace txbox::kafka {
namespace {

using SteadyClock = std::chrono::steady_clock;

class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds timeout) : end_(SteadyClock::now() + timeout) {}
  [[nodiscard]] int remaining_ms() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - SteadyClock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
  }

 private:
  SteadyClock::time_point end_;
};

/// Fills in one topic's metadata and returns whether the cluster answered. Asked for topic by topic: a request for all
/// known topics at once would set the flag that creates missing ones when librdkafka has them all in its cache.
bool read_metadata(rd_kafka_t* client, TopicDescription& description, std::vector<std::int32_t>& brokers,
                   int timeout_ms) {
  const TopicHandle topic(rd_kafka_topic_new(client, description.name.c_str(), nullptr));
  if (!topic) {
    description.error = rd_kafka_last_error();
    return true;
  }
  const rd_kafka_metadata_t* answer = nullptr;
  description.error = rd_kafka_metadata(client, 0, topic.get(), &answer, timeout_ms);
  if (description.error != RD_KAFKA_RESP_ERR_NO_ERROR) return false;
  const MetadataHandle owner(answer);
  brokers.clear();
  description.brokers = answer->broker_cnt;
  for (int index = 0; index < answer->broker_cnt; ++index) brokers.push_back(answer->brokers[index].id);
  if (answer->topic_cnt == 0) {
    description.error = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    return true;
  }
  description.partitions = answer->topics[0].partition_cnt;
  description.error = answer->topics[0].err;
  description.by_partition.resize(static_cast<std::size_t>(std::max(description.partitions, 0)));
  for (int index = 0; index < description.partitions; ++index) {
    const rd_kafka_metadata_partition_t& partition = answer->topics[0].partitions[index];
    const auto id = static_cast<std::size_t>(partition.id);
    if (id < description.by_partition.size())
      description.by_partition[id] = {partition.leader < 0 ? 0 : partition.isr_cnt, partition.replica_cnt};
    const bool first = index == 0;
    description.replicas = first ? partition.replica_cnt : std::min(description.replicas, partition.replica_cnt);
    description.replicas_in_sync =
        first ? partition.isr_cnt : std::min(description.replicas_in_sync, partition.isr_cnt);
  }
  return true;
}

/// librdkafka sends DescribeConfigs to the controller and waits for it until the timeout. A cluster that names none
/// of its own brokers as the controller (librdkafka's mock) would never answer.
bool controller_is_known(rd_kafka_t* client, const std::vector<std::int32_t>& brokers) {
  return std::find(brokers.begin(), brokers.end(), rd_kafka_controllerid(client, 0)) != brokers.end();
}

EventHandle request_limits(rd_kafka_t* client, const std::vector<std::string>& topics, int timeout_ms) {
  std::array<char, 256> reason{};
  const AdminOptionsHandle options(rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS));
  if (rd_kafka_AdminOptions_set_request_timeout(options.get(), timeout_ms, reason.data(), reason.size()) !=
      RD_KAFKA_RESP_ERR_NO_ERROR) {
    return nullptr;
  }
  std::vector<ConfigResourceHandle> resources;
  std::vector<rd_kafka_ConfigResource_t*> pointers;
  for (const std::string& topic : topics) {
    resources.emplace_back(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
    pointers.push_back(resources.back().get());
  }
  const QueueHandle queue(rd_kafka_queue_new(client));
  rd_kafka_DescribeConfigs(client, pointers.data(), pointers.size(), options.get(), queue.get());
  return EventHandle(rd_kafka_queue_poll(queue.get(), timeout_ms));
}

std::optional<std::int64_t> to_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

void read_limits(const rd_kafka_ConfigResource_t* resource, TopicDescription& description) {
  std::size_t count = 0;
  const rd_kafka_ConfigEntry_t** entries = rd_kafka_ConfigResource_configs(resource, &count);
  for (std::size_t index = 0; index < count; ++index) {
    const char* value = rd_kafka_ConfigEntry_value(entries[index]);
    if (value == nullptr) continue;
    const std::string_view name = rd_kafka_ConfigEntry_name(entries[index]);
    if (name == "max.message.bytes") {
      if (const std::optional<std::int64_t> bytes = to_number(value)) {
        description.message_bytes_max = *bytes;
        description.limits_known = true;
      }
    } else if (name == "min.insync.replicas") {
      description.min_insync_replicas = to_number(value);
    } else if (name == "retention.ms") {
      description.retention_ms = to_number(value);
    } else if (name == "retention.bytes") {
      description.retention_bytes = to_number(value);
    } else if (name == "cleanup.policy") {
      description.compacted = std::string_view(value).find("compact") != std::string_view::npos;
    }
  }
}

/// Refused, unsupported or late: the broker's defaults stay, and limits_known says so.
void add_limits(rd_kafka_t* client, std::vector<TopicDescription>& descriptions, int timeout_ms) {
  std::vector<std::string> topics;
  for (const TopicDescription& description : descriptions) {
    if (description.error == RD_KAFKA_RESP_ERR_NO_ERROR) topics.push_back(description.name);
  }
  if (topics.empty() || timeout_ms == 0) return;
  const EventHandle event = request_limits(client, topics, timeout_ms);
  const rd_kafka_DescribeConfigs_result_t* result = rd_kafka_event_DescribeConfigs_result(event.get());
  if (result == nullptr || rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  std::size_t count = 0;
  const rd_kafka_ConfigResource_t** resources = rd_kafka_DescribeConfigs_result_resources(result, &count);
  for (std::size_t index = 0; index < count; ++index) {
    if (rd_kafka_ConfigResource_error(resources[index]) != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    const std::string_view name = rd_kafka_ConfigResource_name(resources[index]);
    for (TopicDescription& description : descriptions) {
      if (description.name == name) read_limits(resources[index], description);
    }
  }
}

}  // namespace

std::vector<TopicDescription> describe_topics(rd_kafka_t* client, const std::vector<std::string>& topics,
                                              std::chrono::milliseconds timeout) {
  const Deadline deadline(timeout);
  std::vector<TopicDescription> descriptions;
  std::vector<std::int32_t> brokers;
  int silence = RD_KAFKA_RESP_ERR_NO_ERROR;
  for (const std::string& topic : topics) {
    TopicDescription& description = descriptions.emplace_back();
    description.name = topic;
    // A silent cluster costs the timeout once, not once a topic.
    if (silence == RD_KAFKA_RESP_ERR_NO_ERROR && deadline.remaining_ms() == 0) silence = RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (silence != RD_KAFKA_RESP_ERR_NO_ERROR) {
      description.error = silence;
    } else if (!read_metadata(client, description, brokers, deadline.remaining_ms())) {
      silence = description.error;
    }
  }
  if (controller_is_known(client, brokers)) add_limits(client, descriptions, deadline.remaining_ms());
  return descriptions;
}

}  // namespace txbox::kafka
