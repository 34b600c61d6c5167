#include "support/kafka_reader.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>
#include <utility>

#include <librdkafka/rdkafka.h>

namespace txbox::test {
namespace {

using SteadyClock = std::chrono::steady_clock;

template <auto destroy>
struct DestroyedBy {
  template <class Handle>
  void operator()(Handle* handle) const noexcept {
    destroy(handle);
  }
};

/// Leaving a group that was never joined takes up to a second in librdkafka 2.0.2.
void destroy_consumer(rd_kafka_t* client) noexcept {
  rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

using ConfigurationHandle = std::unique_ptr<rd_kafka_conf_t, DestroyedBy<rd_kafka_conf_destroy>>;
using ClientHandle = std::unique_ptr<rd_kafka_t, DestroyedBy<destroy_consumer>>;
using TopicHandle = std::unique_ptr<rd_kafka_topic_t, DestroyedBy<rd_kafka_topic_destroy>>;
using MetadataHandle = std::unique_ptr<const rd_kafka_metadata_t, DestroyedBy<rd_kafka_metadata_destroy>>;
using PartitionsHandle =
    std::unique_ptr<rd_kafka_topic_partition_list_t, DestroyedBy<rd_kafka_topic_partition_list_destroy>>;
using MessageHandle = std::unique_ptr<rd_kafka_message_t, DestroyedBy<rd_kafka_message_destroy>>;

constexpr std::array<std::pair<const char*, const char*>, 8> kProperties{{
    {"group.id", "txbox-test-reader"},
    {"enable.auto.commit", "false"},
    {"enable.auto.offset.store", "false"},
    {"auto.offset.reset", "error"},
    {"enable.partition.eof", "true"},
    {"allow.auto.create.topics", "false"},
    {"fetch.wait.max.ms", "10"},
    {"socket.nagle.disable", "true"},
}};

void require(rd_kafka_resp_err_t error, const std::string& what) {
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
    throw std::runtime_error("kafka reader: " + what + ": " + rd_kafka_err2str(error));
}

int remaining_ms(SteadyClock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - SteadyClock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

Bytes to_bytes(const void* data, std::size_t size) { return data == nullptr ? Bytes() : Bytes(BytesView(data, size)); }

ReadRecord to_record(const rd_kafka_message_t& message) {
  ReadRecord record;
  record.partition = message.partition;
  record.offset = message.offset;
  record.timestamp_ms = rd_kafka_message_timestamp(&message, nullptr);
  record.key = to_bytes(message.key, message.key_len);
  record.payload = to_bytes(message.payload, message.len);
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return record;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t index = 0;
       rd_kafka_header_get_all(headers, index, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++index) {
    record.headers.add(name, to_bytes(value, size));
  }
  return record;
}

ClientHandle make_consumer(const std::string& bootstrap_servers) {
  ConfigurationHandle configuration(rd_kafka_conf_new());
  rd_kafka_conf_set_log_cb(configuration.get(), nullptr);  // A test speaks by what it throws.
  std::array<char, 256> reason{};
  const auto set = [&](const char* property, const char* value) {
    if (rd_kafka_conf_set(configuration.get(), property, value, reason.data(), reason.size()) != RD_KAFKA_CONF_OK) {
      throw std::runtime_error(reason.data());
    }
  };
  for (const auto& [property, value] : kProperties) set(property, value);
  set("bootstrap.servers", bootstrap_servers.c_str());
  ClientHandle client(rd_kafka_new(RD_KAFKA_CONSUMER, configuration.get(), reason.data(), reason.size()));
  if (!client) throw std::runtime_error(reason.data());
  static_cast<void>(configuration.release());
  rd_kafka_poll_set_consumer(client.get());
  return client;
}

}  // namespace

struct KafkaReader::State {
  ClientHandle client;
};

KafkaReader::KafkaReader(const std::string& bootstrap_servers)
    : state_(std::make_unique<State>(State{make_consumer(bootstrap_servers)})) {}

KafkaReader::~KafkaReader() = default;

std::int32_t KafkaReader::partitions(const std::string& topic, std::chrono::milliseconds timeout) {
  const TopicHandle handle(rd_kafka_topic_new(state_->client.get(), topic.c_str(), nullptr));
  const rd_kafka_metadata_t* answer = nullptr;
  require(rd_kafka_metadata(state_->client.get(), 0, handle.get(), &answer, static_cast<int>(timeout.count())),
          "metadata of " + topic);
  const MetadataHandle owner(answer);
  if (answer->topic_cnt == 0 || answer->topics[0].err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) return 0;
  require(answer->topics[0].err, "metadata of " + topic);
  return answer->topics[0].partition_cnt;
}

std::vector<ReadRecord> KafkaReader::read_all(const std::string& topic, std::chrono::milliseconds timeout) {
  return await(topic, 0, timeout);
}

std::vector<ReadRecord> KafkaReader::await(const std::string& topic, std::size_t count,
                                           std::chrono::milliseconds timeout) {
  const SteadyClock::time_point end = SteadyClock::now() + timeout;
  const std::int32_t partition_count = partitions(topic, timeout);
  const PartitionsHandle assignment(rd_kafka_topic_partition_list_new(partition_count));
  for (std::int32_t partition = 0; partition < partition_count; ++partition) {
    rd_kafka_topic_partition_list_add(assignment.get(), topic.c_str(), partition)->offset = RD_KAFKA_OFFSET_BEGINNING;
  }
  require(rd_kafka_assign(state_->client.get(), assignment.get()), "assign " + topic);
  std::vector<ReadRecord> records;
  std::set<std::int32_t> at_end;
  while (at_end.size() < static_cast<std::size_t>(partition_count) || records.size() < count) {
    const MessageHandle message(rd_kafka_consumer_poll(state_->client.get(), remaining_ms(end)));
    if (!message) {
      if (at_end.size() == static_cast<std::size_t>(partition_count)) break;
      throw std::runtime_error("kafka reader: the end of " + topic + " was not reached in time");
    }
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      at_end.insert(message->partition);
    } else if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      records.push_back(to_record(*message));
    } else if (message->rkt != nullptr) {
      // An error of the partition is a verdict; one of the client (a broker is away) passes within the timeout.
      require(message->err, "read " + topic);
    }
  }
  require(rd_kafka_assign(state_->client.get(), nullptr), "unassign " + topic);
  return records;
}

}  // namespace txbox::test
