#include "tests/bench/support/topic.hpp"

#include <unistd.h>

#include <array>
#include <chrono>

#include <txbox/base/error.hpp>

namespace txbox::bench {
namespace {

constexpr int kTimeoutMs = 20'000;

struct DestroyConf {
  void operator()(rd_kafka_conf_t* conf) const noexcept { rd_kafka_conf_destroy(conf); }
};
struct DestroyQueue {
  void operator()(rd_kafka_queue_t* queue) const noexcept { rd_kafka_queue_destroy(queue); }
};
struct DestroyEvent {
  void operator()(rd_kafka_event_t* event) const noexcept { rd_kafka_event_destroy(event); }
};
struct DestroyNewTopic {
  void operator()(rd_kafka_NewTopic_t* topic) const noexcept { rd_kafka_NewTopic_destroy(topic); }
};
struct DestroyDeleteTopic {
  void operator()(rd_kafka_DeleteTopic_t* topic) const noexcept { rd_kafka_DeleteTopic_destroy(topic); }
};

[[noreturn]] void fail(const std::string& what, const std::string& reason) {
  throw Error(ErrorCode::broker_unavailable, what + ": " + reason);
}

void create(rd_kafka_t* client, const std::string& name, std::int32_t partitions) {
  constexpr int kBrokerDefault = -1;  // Replication factor.
  std::array<char, 256> reason{};
  std::unique_ptr<rd_kafka_NewTopic_t, DestroyNewTopic> topic(
      rd_kafka_NewTopic_new(name.c_str(), partitions, kBrokerDefault, reason.data(), reason.size()));
  if (!topic) fail("topic " + name, reason.data());
  std::unique_ptr<rd_kafka_queue_t, DestroyQueue> queue(rd_kafka_queue_new(client));
  rd_kafka_NewTopic_t* topics[] = {topic.get()};
  rd_kafka_CreateTopics(client, topics, 1, nullptr, queue.get());
  std::unique_ptr<rd_kafka_event_t, DestroyEvent> event(rd_kafka_queue_poll(queue.get(), kTimeoutMs));
  if (!event) fail("creating topic " + name, "no answer in time");
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    fail("creating topic " + name, rd_kafka_event_error_string(event.get()));
  }
  std::size_t count = 0;
  const rd_kafka_topic_result_t** results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count);
  if (count != 1 || rd_kafka_topic_result_error(results[0]) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    fail("creating topic " + name, count == 1 ? rd_kafka_topic_result_error_string(results[0]) : "no result");
  }
}

/// A new topic's partitions answer only once each has its leader, a moment after the broker has said that it is there.
void wait_for_leaders(rd_kafka_t* client, const std::string& name, std::int32_t partitions) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kTimeoutMs);
  for (std::int32_t partition = 0; partition < partitions;) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    const rd_kafka_resp_err_t error =
        rd_kafka_query_watermark_offsets(client, name.c_str(), partition, &low, &high, kTimeoutMs);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
      ++partition;
    } else if (std::chrono::steady_clock::now() > deadline) {
      fail("creating topic " + name, rd_kafka_err2str(error));
    } else {
      rd_kafka_poll(client, 20);
    }
  }
}

void erase(rd_kafka_t* client, const std::string& name) noexcept {
  std::unique_ptr<rd_kafka_DeleteTopic_t, DestroyDeleteTopic> topic(rd_kafka_DeleteTopic_new(name.c_str()));
  std::unique_ptr<rd_kafka_queue_t, DestroyQueue> queue(rd_kafka_queue_new(client));
  rd_kafka_DeleteTopic_t* topics[] = {topic.get()};
  rd_kafka_DeleteTopics(client, topics, 1, nullptr, queue.get());
  // Waiting is all that can be done: a topic that stays is in nobody's way.
  std::unique_ptr<rd_kafka_event_t, DestroyEvent> event(rd_kafka_queue_poll(queue.get(), kTimeoutMs));
}

}  // namespace

Client make_client(rd_kafka_type_t type, const Properties& properties, DeliveryCallback on_delivery, void* opaque) {
  std::array<char, 256> reason{};
  std::unique_ptr<rd_kafka_conf_t, DestroyConf> conf(rd_kafka_conf_new());
  for (const auto& [name, value] : properties) {
    if (rd_kafka_conf_set(conf.get(), name.c_str(), value.c_str(), reason.data(), reason.size()) != RD_KAFKA_CONF_OK) {
      throw Error(ErrorCode::failure, name + ": " + reason.data());
    }
  }
  // What matters is thrown or counted; stderr is for the words of the benchmark.
  rd_kafka_conf_set_log_cb(conf.get(), nullptr);
  if (on_delivery != nullptr) rd_kafka_conf_set_dr_msg_cb(conf.get(), on_delivery);
  rd_kafka_conf_set_opaque(conf.get(), opaque);
  rd_kafka_t* client = rd_kafka_new(type, conf.get(), reason.data(), reason.size());
  if (client == nullptr) throw Error(ErrorCode::failure, reason.data());
  static_cast<void>(conf.release());  // The client owns it now.
  return Client(client);
}

Properties producer_properties(const std::string& brokers) {
  return {{"bootstrap.servers", brokers},
          {"enable.idempotence", "true"},
          {"enable.gapless.guarantee", "true"},
          {"acks", "all"},
          {"message.timeout.ms", "0"},
          {"max.in.flight.requests.per.connection", "5"},
          {"partitioner", "murmur2_random"},
          {"allow.auto.create.topics", "false"},
          {"socket.timeout.ms", "10000"},
          {"request.timeout.ms", "5000"},
          {"socket.nagle.disable", "true"},
          {"socket.keepalive.enable", "true"},
          {"linger.ms", "0"}};
}

Topic::Topic(const std::string& brokers, const std::string& purpose, std::int32_t partitions)
    : partitions_(partitions), client_(make_client(RD_KAFKA_PRODUCER, {{"bootstrap.servers", brokers}})) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  name_ = "txbox-bench-" + purpose + "-" + std::to_string(getpid()) + "-" +
          std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  create(client_.get(), name_, partitions);
  wait_for_leaders(client_.get(), name_, partitions);
}

Topic::~Topic() { erase(client_.get(), name_); }

std::int64_t Topic::records() const {
  std::int64_t records = 0;
  for (std::int32_t partition = 0; partition < partitions_; ++partition) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    const rd_kafka_resp_err_t error =
        rd_kafka_query_watermark_offsets(client_.get(), name_.c_str(), partition, &low, &high, kTimeoutMs);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) fail("asking for the end of topic " + name_, rd_kafka_err2str(error));
    records += high - low;
  }
  return records;
}

}  // namespace txbox::bench
