#include <txbox/kafka/topic_reader.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <txbox/base/error.hpp>
#include <txbox/kafka/errors.hpp>

#include "handles.hpp"
#include "property_rules.hpp"

namespace txbox::kafka {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& what, const std::string& reason) {
  throw Error(ErrorCode::broker_unavailable, what + ": " + reason);
}

void require(rd_kafka_resp_err_t error, const std::string& what) {
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) fail(what, describe(error));
}

ClientHandle make_consumer(const Properties& properties) {
  ConfigurationHandle configuration(rd_kafka_conf_new());
  // librdkafka wants a group's name for any consumer; this one never joins it.
  set_property(configuration.get(), "group.id", "txbox-topic-reader");
  for (const auto& [property, value] : properties) set_property(configuration.get(), property, value);
  set_property(configuration.get(), "enable.auto.commit", "false");
  set_property(configuration.get(), "auto.offset.reset", "error");
  set_property(configuration.get(), "isolation.level", "read_committed");
  // The position then passes the markers of transactions too, which a count of records would not.
  set_property(configuration.get(), "enable.partition.eof", "true");
  // What matters is thrown; librdkafka would write its lines to stderr.
  rd_kafka_conf_set_log_cb(configuration.get(), nullptr);
  std::array<char, 256> reason{};
  ClientHandle consumer(rd_kafka_new(RD_KAFKA_CONSUMER, configuration.get(), reason.data(), reason.size()));
  if (!consumer) throw Error(ErrorCode::configuration, std::string("topic reader: ") + reason.data());
  static_cast<void>(configuration.release());  // The consumer owns it now.
  rd_kafka_poll_set_consumer(consumer.get());
  return consumer;
}

std::int32_t count_partitions(rd_kafka_t* consumer, const std::string& topic, milliseconds timeout) {
  const TopicHandle handle(rd_kafka_topic_new(consumer, topic.c_str(), nullptr));
  const rd_kafka_metadata_t* answer = nullptr;
  require(rd_kafka_metadata(consumer, 0, handle.get(), &answer, static_cast<int>(timeout.count())),
          "asking for topic " + topic);
  const MetadataHandle metadata(answer);
  if (metadata->topic_cnt != 1) fail("asking for topic " + topic, "the broker does not know it");
  require(metadata->topics[0].err, "asking for topic " + topic);
  return metadata->topics[0].partition_cnt;
}

Bytes bytes_of(const void* data, std::size_t size) { return data == nullptr ? Bytes() : Bytes(BytesView(data, size)); }

Headers headers_of(const rd_kafka_message_t& message) {
  Headers result;
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return result;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    result.add(name, bytes_of(value, size));
  }
  return result;
}

}  // namespace

struct TopicReader::State {
  std::string topic;
  ClientHandle consumer;
  std::vector<std::int64_t> next_offset;  ///< Of each partition.
};

TopicReader::TopicReader(const Properties& properties, std::string topic, milliseconds timeout)
    : state_(std::make_unique<State>()) {
  state_->topic = std::move(topic);
  state_->consumer = make_consumer(properties);
  rd_kafka_t* consumer = state_->consumer.get();
  const std::int32_t partitions = count_partitions(consumer, state_->topic, timeout);
  const TopicPartitionsHandle list(rd_kafka_topic_partition_list_new(partitions));
  for (std::int32_t partition = 0; partition < partitions; ++partition) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    require(rd_kafka_query_watermark_offsets(consumer, state_->topic.c_str(), partition, &low, &high,
                                             static_cast<int>(timeout.count())),
            "asking for the beginning of topic " + state_->topic);
    rd_kafka_topic_partition_list_add(list.get(), state_->topic.c_str(), partition)->offset = low;
    state_->next_offset.push_back(low);
  }
  require(rd_kafka_assign(consumer, list.get()), "reading topic " + state_->topic);
}

TopicReader::~TopicReader() = default;

void TopicReader::poll(milliseconds timeout, std::vector<TopicRecord>& out) {
  constexpr int kMessagesMax = 10'000;  // The caller gets on with its own work however fast records come.
  auto wait_ms = static_cast<int>(timeout.count());
  for (int i = 0; i < kMessagesMax; ++i) {
    const MessageHandle message(rd_kafka_consumer_poll(state_->consumer.get(), wait_ms));
    if (!message) return;
    // Without a topic it is the connection's trouble: it heals by itself, and read_to_end() has a deadline.
    if (message->rkt == nullptr) continue;
    std::int64_t& next_offset = state_->next_offset[static_cast<std::size_t>(message->partition)];
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      next_offset = std::max(next_offset, message->offset);
      continue;
    }
    require(message->err, "reading topic " + state_->topic);
    out.push_back({.partition = message->partition,
                   .offset = message->offset,
                   .key = bytes_of(message->key, message->key_len),
                   .payload = bytes_of(message->payload, message->len),
                   .headers = headers_of(*message)});
    next_offset = message->offset + 1;
    wait_ms = 0;
  }
}

void TopicReader::read_to_end(milliseconds timeout, std::vector<TopicRecord>& out) {
  constexpr milliseconds kGlance(50);
  const auto deadline = steady_clock::now() + timeout;
  std::vector<std::int64_t> ends;
  for (std::size_t i = 0; i < state_->next_offset.size(); ++i) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    require(
        rd_kafka_query_watermark_offsets(state_->consumer.get(), state_->topic.c_str(), static_cast<std::int32_t>(i),
                                         &low, &high, static_cast<int>(timeout.count())),
        "asking for the end of topic " + state_->topic);
    ends.push_back(high);
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    while (state_->next_offset[i] < ends[i]) {
      if (steady_clock::now() > deadline) fail("reading topic " + state_->topic, "its end was not reached in time");
      poll(kGlance, out);
    }
  }
}

}  // namespace txbox::kafka
