#include "support/kafka_admin.hpp"

#include <array>
#include <chrono>
#include <stdexcept>

#include <librdkafka/rdkafka.h>

#include <txbox/base/random.hpp>

#include "support/kafka_reader.hpp"

namespace txbox::test {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kTimeoutMs = 15'000;

template <auto destroy>
struct DestroyedBy {
  template <class Handle>
  void operator()(Handle* handle) const noexcept {
    destroy(handle);
  }
};

using ConfigurationHandle = std::unique_ptr<rd_kafka_conf_t, DestroyedBy<rd_kafka_conf_destroy>>;
using ClientHandle = std::unique_ptr<rd_kafka_t, DestroyedBy<rd_kafka_destroy>>;
using QueueHandle = std::unique_ptr<rd_kafka_queue_t, DestroyedBy<rd_kafka_queue_destroy>>;
using EventHandle = std::unique_ptr<rd_kafka_event_t, DestroyedBy<rd_kafka_event_destroy>>;
using NewTopicHandle = std::unique_ptr<rd_kafka_NewTopic_t, DestroyedBy<rd_kafka_NewTopic_destroy>>;
using NewPartitionsHandle = std::unique_ptr<rd_kafka_NewPartitions_t, DestroyedBy<rd_kafka_NewPartitions_destroy>>;
using DeleteRecordsHandle = std::unique_ptr<rd_kafka_DeleteRecords_t, DestroyedBy<rd_kafka_DeleteRecords_destroy>>;
using TopicPartitionsHandle =
    std::unique_ptr<rd_kafka_topic_partition_list_t, DestroyedBy<rd_kafka_topic_partition_list_destroy>>;
using DeleteTopicHandle = std::unique_ptr<rd_kafka_DeleteTopic_t, DestroyedBy<rd_kafka_DeleteTopic_destroy>>;

void require(rd_kafka_resp_err_t error, const std::string& what) {
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw std::runtime_error("kafka admin: " + what + ": " + rd_kafka_err2str(error));
  }
}

ClientHandle make_client(const std::string& bootstrap_servers) {
  ConfigurationHandle configuration(rd_kafka_conf_new());
  rd_kafka_conf_set_log_cb(configuration.get(), nullptr);  // A test speaks by what it throws.
  std::array<char, 256> reason{};
  for (const auto& [property, value] : {std::pair<const char*, const char*>{"allow.auto.create.topics", "false"},
                                        {"bootstrap.servers", bootstrap_servers.c_str()}}) {
    if (rd_kafka_conf_set(configuration.get(), property, value, reason.data(), reason.size()) != RD_KAFKA_CONF_OK) {
      throw std::runtime_error(reason.data());
    }
  }
  ClientHandle client(rd_kafka_new(RD_KAFKA_PRODUCER, configuration.get(), reason.data(), reason.size()));
  if (!client) throw std::runtime_error(reason.data());
  static_cast<void>(configuration.release());
  return client;
}

/// The topic's own error, or that of the whole request.
rd_kafka_resp_err_t result_of(const EventHandle& event) {
  if (!event) return RD_KAFKA_RESP_ERR__TIMED_OUT;
  if (const rd_kafka_resp_err_t error = rd_kafka_event_error(event.get())) return error;
  std::size_t count = 0;
  const rd_kafka_topic_result_t** results = nullptr;
  if (const auto* created = rd_kafka_event_CreateTopics_result(event.get())) {
    results = rd_kafka_CreateTopics_result_topics(created, &count);
  } else if (const auto* deleted = rd_kafka_event_DeleteTopics_result(event.get())) {
    results = rd_kafka_DeleteTopics_result_topics(deleted, &count);
  } else if (const auto* grown = rd_kafka_event_CreatePartitions_result(event.get())) {
    results = rd_kafka_CreatePartitions_result_topics(grown, &count);
  } else if (const auto* shrunk = rd_kafka_event_DeleteRecords_result(event.get())) {
    const rd_kafka_topic_partition_list_t* list = rd_kafka_DeleteRecords_result_offsets(shrunk);
    return list->cnt == 1 ? list->elems[0].err : RD_KAFKA_RESP_ERR__FAIL;
  }
  return count == 1 ? rd_kafka_topic_result_error(results[0]) : RD_KAFKA_RESP_ERR__FAIL;
}

}  // namespace

struct KafkaAdmin::State {
  explicit State(const std::string& bootstrap_servers)
      : client(make_client(bootstrap_servers)), queue(rd_kafka_queue_new(client.get())), reader(bootstrap_servers) {}

  /// Each question is a round trip to the broker, so that the loop does not spin.
  void await(const std::string& topic, bool present) {
    const SteadyClock::time_point end = SteadyClock::now() + std::chrono::milliseconds(kTimeoutMs);
    while ((reader.partitions(topic) > 0) != present) {
      if (SteadyClock::now() > end) throw std::runtime_error("kafka admin: " + topic + " did not change in time");
    }
  }

  /// The controller answers a creation before every partition has its leader.
  void await_leaders(const std::string& topic, int partitions) {
    const SteadyClock::time_point end = SteadyClock::now() + std::chrono::milliseconds(kTimeoutMs);
    for (std::int32_t partition = 0; partition < partitions;) {
      std::int64_t low = 0;
      std::int64_t high = 0;
      const rd_kafka_resp_err_t error =
          rd_kafka_query_watermark_offsets(client.get(), topic.c_str(), partition, &low, &high, kTimeoutMs);
      if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
        ++partition;
      } else if (SteadyClock::now() > end) {
        require(error, "the leaders of " + topic);
      } else {
        refresh_metadata();
        rd_kafka_poll(client.get(), 20);
      }
    }
  }

  /// A client that knows the topic with fewer partitions answers from what it knows, for minutes.
  void refresh_metadata() {
    const rd_kafka_metadata_t* metadata = nullptr;
    if (rd_kafka_metadata(client.get(), 1, nullptr, &metadata, kTimeoutMs) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      rd_kafka_metadata_destroy(metadata);
    }
  }

  ClientHandle client;
  QueueHandle queue;
  KafkaReader reader;
};

KafkaAdmin::KafkaAdmin(const std::string& bootstrap_servers) : state_(std::make_unique<State>(bootstrap_servers)) {}

KafkaAdmin::~KafkaAdmin() = default;

void KafkaAdmin::create_topic(const std::string& topic, int partitions, const Configuration& configuration) {
  std::array<char, 256> reason{};
  const NewTopicHandle request(rd_kafka_NewTopic_new(topic.c_str(), partitions, -1, reason.data(), reason.size()));
  if (!request) throw std::runtime_error(reason.data());
  for (const auto& [property, value] : configuration) {
    require(rd_kafka_NewTopic_set_config(request.get(), property.c_str(), value.c_str()), property);
  }
  rd_kafka_NewTopic_t* requests = request.get();
  rd_kafka_CreateTopics(state_->client.get(), &requests, 1, nullptr, state_->queue.get());
  require(result_of(EventHandle(rd_kafka_queue_poll(state_->queue.get(), kTimeoutMs))), "create " + topic);
  state_->await(topic, true);
  state_->await_leaders(topic, partitions);
}

void KafkaAdmin::delete_topic(const std::string& topic) {
  const DeleteTopicHandle request(rd_kafka_DeleteTopic_new(topic.c_str()));
  rd_kafka_DeleteTopic_t* requests = request.get();
  rd_kafka_DeleteTopics(state_->client.get(), &requests, 1, nullptr, state_->queue.get());
  require(result_of(EventHandle(rd_kafka_queue_poll(state_->queue.get(), kTimeoutMs))), "delete " + topic);
  state_->await(topic, false);
}

void KafkaAdmin::add_partitions(const std::string& topic, int partitions_in_all) {
  std::array<char, 256> reason{};
  const NewPartitionsHandle request(rd_kafka_NewPartitions_new(
      topic.c_str(), static_cast<std::size_t>(partitions_in_all), reason.data(), reason.size()));
  if (!request) throw std::runtime_error(reason.data());
  rd_kafka_NewPartitions_t* requests = request.get();
  rd_kafka_CreatePartitions(state_->client.get(), &requests, 1, nullptr, state_->queue.get());
  require(result_of(EventHandle(rd_kafka_queue_poll(state_->queue.get(), kTimeoutMs))), "grow " + topic);
  state_->await_leaders(topic, partitions_in_all);
}

void KafkaAdmin::delete_records(const std::string& topic, std::int32_t partition, std::int64_t offset) {
  const TopicPartitionsHandle list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset = offset;
  const DeleteRecordsHandle request(rd_kafka_DeleteRecords_new(list.get()));
  rd_kafka_DeleteRecords_t* requests = request.get();
  rd_kafka_DeleteRecords(state_->client.get(), &requests, 1, nullptr, state_->queue.get());
  require(result_of(EventHandle(rd_kafka_queue_poll(state_->queue.get(), kTimeoutMs))), "shorten " + topic);
}

bool KafkaAdmin::exists(const std::string& topic) { return state_->reader.partitions(topic) > 0; }

std::string unique_topic(const std::string& prefix) { return prefix + "-" + std::to_string(random_seed()); }

}  // namespace txbox::test
