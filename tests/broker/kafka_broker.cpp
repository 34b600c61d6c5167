#include "kafka_broker.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>
#include <librdkafka/rdkafka.h>

#include <txbox/base/random.hpp>
#include <txbox/kafka/producer.hpp>

namespace txbox::test {
namespace {

constexpr int kTimeoutMs = 30'000;

void require(rd_kafka_error_t* error, const std::string& what) {
  if (error == nullptr) return;
  const std::string reason = rd_kafka_error_string(error);
  rd_kafka_error_destroy(error);
  throw std::runtime_error(what + ": " + reason);
}

}  // namespace

std::string bootstrap_servers() {
  const char* servers = std::getenv("TXBOX_TEST_KAFKA");
  if (servers == nullptr || *servers == '\0') {
    FAIL("TXBOX_TEST_KAFKA names no broker: start one with scripts/kafka start, or run scripts/test");
  }
  return servers;
}

kafka::ConsumerOptions consumer_options(kafka::Properties properties) {
  kafka::ConsumerOptions options;
  options.group = "group-" + std::to_string(random_seed());
  options.properties = {{"session.timeout.ms", "6000"}, {"heartbeat.interval.ms", "200"}, {"fetch.wait.max.ms", "20"}};
  options.properties.insert(options.properties.end(), properties.begin(), properties.end());
  options.properties.emplace_back("bootstrap.servers", bootstrap_servers());
  return options;
}

void publish(const std::string& topic, std::int32_t partition, int first, int count, std::size_t padding) {
  kafka::ProducerOptions options;
  options.properties = {{"bootstrap.servers", bootstrap_servers()}};
  kafka::Producer producer(options);
  producer.add_topic(topic);
  std::vector<kafka::DeliveryReport> reports;
  for (int i = first; i < first + count; ++i) {
    const std::string payload = std::to_string(i) + std::string(padding, ' ');
    while (producer.produce(topic, partition, BytesView(payload), BytesView(payload), {}, 0) ==
           RD_KAFKA_RESP_ERR__QUEUE_FULL) {
      producer.poll(std::chrono::milliseconds(100), reports);
    }
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kTimeoutMs);
  while (producer.in_queue() > 0 && std::chrono::steady_clock::now() < end) {
    producer.poll(std::chrono::milliseconds(100), reports);
  }
  REQUIRE(reports.size() == static_cast<std::size_t>(count));
  for (const kafka::DeliveryReport& report : reports) REQUIRE(report.error == 0);
}

struct KafkaTransaction::State {
  rd_kafka_t* client = nullptr;
};

KafkaTransaction::KafkaTransaction() : state_(new State) {
  std::array<char, 256> reason{};
  rd_kafka_conf_t* configuration = rd_kafka_conf_new();
  rd_kafka_conf_set_log_cb(configuration, nullptr);
  const std::string id = "transaction-" + std::to_string(random_seed());
  rd_kafka_conf_set(configuration, "transactional.id", id.c_str(), reason.data(), reason.size());
  rd_kafka_conf_set(configuration, "bootstrap.servers", bootstrap_servers().c_str(), reason.data(), reason.size());
  state_->client = rd_kafka_new(RD_KAFKA_PRODUCER, configuration, reason.data(), reason.size());
  REQUIRE(state_->client != nullptr);
  require(rd_kafka_init_transactions(state_->client, kTimeoutMs), "init");
}

KafkaTransaction::~KafkaTransaction() {
  rd_kafka_destroy(state_->client);
  delete state_;
}

void KafkaTransaction::begin() { require(rd_kafka_begin_transaction(state_->client), "begin"); }

void KafkaTransaction::produce(const std::string& topic, std::int32_t partition, int count) {
  for (int i = 0; i < count; ++i) {
    const rd_kafka_resp_err_t error = rd_kafka_producev(
        state_->client, RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(partition),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_VALUE(const_cast<char*>("x"), 1), RD_KAFKA_V_END);
    REQUIRE(error == RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  REQUIRE(rd_kafka_flush(state_->client, kTimeoutMs) == RD_KAFKA_RESP_ERR_NO_ERROR);
}

void KafkaTransaction::commit() { require(rd_kafka_commit_transaction(state_->client, kTimeoutMs), "commit"); }

void KafkaTransaction::abort() { require(rd_kafka_abort_transaction(state_->client, kTimeoutMs), "abort"); }

}  // namespace txbox::test
