#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <librdkafka/rdkafka.h>

#include <txbox/kafka/errors.hpp>
#include <txbox/kafka/producer.hpp>

#include "mock_kafka.hpp"
#include "support/kafka_reader.hpp"

using namespace std::chrono_literals;
using txbox::Bytes;
using txbox::BytesView;
using txbox::kafka::DeliveryReport;
using txbox::kafka::ErrorScope;
using txbox::kafka::HeaderView;
using txbox::kafka::Persistence;
using txbox::kafka::Producer;
using txbox::test::await_reports;
using txbox::test::KafkaReader;
using txbox::test::mock_kafka;
using txbox::test::mock_options;
using txbox::test::new_mock_topic;

namespace {

constexpr std::int32_t kBroker = 1;
const BytesView kPayload(std::string_view("payload"));

/// Puts the broker back whatever the test did.
class BrokerDown {
 public:
  BrokerDown() { mock_kafka().set_broker_down(kBroker, true); }
  BrokerDown(const BrokerDown&) = delete;
  BrokerDown& operator=(const BrokerDown&) = delete;
  ~BrokerDown() { mock_kafka().set_broker_down(kBroker, false); }
};

class SlowBroker {
 public:
  explicit SlowBroker(int ms) { mock_kafka().set_round_trip_ms(kBroker, ms); }
  SlowBroker(const SlowBroker&) = delete;
  SlowBroker& operator=(const SlowBroker&) = delete;
  ~SlowBroker() { mock_kafka().set_round_trip_ms(kBroker, 0); }
};

int produce(Producer& producer, const std::string& topic, std::uint64_t tag) {
  const std::array headers{HeaderView{"id", BytesView(std::string_view("e"))}};
  return producer.produce(topic, 0, BytesView(std::string_view("k")), kPayload, headers, tag);
}

/// A producer that is connected and knows the topic.
std::unique_ptr<Producer> warm_producer(const std::string& topic,
                                        txbox::kafka::ProducerOptions options = mock_options()) {
  auto producer = std::make_unique<Producer>(options);
  producer->add_topic(topic);
  REQUIRE(produce(*producer, topic, 0) == 0);
  CHECK(await_reports(*producer, 1).front().error == 0);
  return producer;
}

}  // namespace

TEST_CASE("a record that the broker refuses is reported with the broker's code, as not persisted") {
  const std::string topic = new_mock_topic();
  const auto producer = warm_producer(topic);
  mock_kafka().fail_produce(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, 1);
  REQUIRE(produce(*producer, topic, 1) == 0);
  const DeliveryReport report = await_reports(*producer, 1).front();
  CHECK(report.tag == 1);
  CHECK(report.error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
  CHECK(report.persistence == Persistence::not_persisted);
  CHECK(report.offset == -1);
  CHECK(txbox::kafka::scope_of(report.error) == ErrorScope::record);
}

TEST_CASE("a record above message.max.bytes is refused by produce(), and the limit follows the topics") {
  const std::string topic = new_mock_topic();
  const std::string payload(1'500'000, 'x');
  const auto producer = warm_producer(topic);
  CHECK(producer->produce(topic, 0, BytesView(), BytesView(payload), {}, 1) == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
  CHECK(producer->in_queue() == 0);

  auto options = mock_options();
  options.message_bytes_max = 2'000'000;
  const auto wide_producer = warm_producer(topic, options);
  REQUIRE(wide_producer->produce(topic, 0, BytesView(), BytesView(payload), {}, 1) == 0);
  CHECK(await_reports(*wide_producer, 1).front().error == 0);
}

TEST_CASE("after an out of order sequence the producer is fatal, and each record has its report") {
  const std::string topic = new_mock_topic();
  const auto producer = warm_producer(topic);
  mock_kafka().fail_produce(RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, 1);
  REQUIRE(produce(*producer, topic, 1) == 0);
  const DeliveryReport report = await_reports(*producer, 1).front();
  CHECK(report.error != 0);
  CHECK(report.persistence == Persistence::possibly_persisted);
  CHECK(producer->fatal());
  CHECK(produce(*producer, topic, 2) == RD_KAFKA_RESP_ERR__FATAL);
  const auto client_error = producer->take_client_error();
  REQUIRE(client_error.has_value());
  CHECK(txbox::kafka::scope_of(client_error->error) == ErrorScope::producer);
  CHECK_FALSE(client_error->text.empty());
  CHECK_FALSE(producer->take_client_error().has_value());

  producer->purge();
  CHECK(producer->in_queue() == 0);
  CHECK(warm_producer(topic) != nullptr);
}

TEST_CASE("purge reports what was never sent as not persisted and what was in flight as possibly persisted") {
  const std::string topic = new_mock_topic();
  auto options = mock_options({{"max.in.flight", "1"}});
  options.one_record_a_batch = true;
  const auto producer = warm_producer(topic, options);
  const SlowBroker slow(60'000);
  for (std::uint64_t tag = 1; tag <= 50; ++tag) REQUIRE(produce(*producer, topic, tag) == 0);
  // The first one is on the wire once nothing more arrives in the queue of the broker's thread.
  std::vector<DeliveryReport> early;
  producer->poll(300ms, early);
  REQUIRE(early.empty());
  producer->purge();
  const std::vector<DeliveryReport> reports = await_reports(*producer, 50);
  CHECK(producer->in_queue() == 0);
  const auto in_flight = std::count_if(reports.begin(), reports.end(), [](const DeliveryReport& report) {
    return report.persistence == Persistence::possibly_persisted;
  });
  CHECK(in_flight == 1);
  for (const DeliveryReport& report : reports) {
    CHECK(report.persistence == (report.tag == 1 ? Persistence::possibly_persisted : Persistence::not_persisted));
    CHECK(txbox::kafka::scope_of(report.error) == ErrorScope::producer);
  }
}

TEST_CASE("the queue holds as many records as the window, then asks to wait") {
  const std::string topic = new_mock_topic();
  auto options = mock_options();
  options.window_records = 10;
  const auto producer = warm_producer(topic, options);
  {
    const BrokerDown down;
    for (std::uint64_t tag = 1; tag <= 10; ++tag) REQUIRE(produce(*producer, topic, tag) == 0);
    CHECK(produce(*producer, topic, 11) == RD_KAFKA_RESP_ERR__QUEUE_FULL);
    CHECK(producer->in_queue() == 10);
  }
  for (const DeliveryReport& report : await_reports(*producer, 10)) CHECK(report.error == 0);
  REQUIRE(produce(*producer, topic, 11) == 0);
  CHECK(await_reports(*producer, 1).front().tag == 11);
}

TEST_CASE("records wait without a verdict while the broker is down, and go out in order when it is back") {
  const std::string topic = new_mock_topic();
  const auto producer = warm_producer(topic);
  std::vector<DeliveryReport> reports;
  {
    const BrokerDown down;
    for (std::uint64_t tag = 1; tag <= 100; ++tag) REQUIRE(produce(*producer, topic, tag) == 0);
    std::optional<txbox::kafka::ClientError> client_error;
    while (!client_error) {
      producer->poll(10s, reports);
      client_error = producer->take_client_error();
    }
    CHECK(txbox::kafka::scope_of(client_error->error) == ErrorScope::transport);
    CHECK(client_error->error != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN);
    CHECK(reports.empty());
    CHECK_FALSE(producer->fatal());
    const auto descriptions = producer->describe_topics({topic, "another"}, 200ms);
    REQUIRE(descriptions.size() == 2);
    CHECK(txbox::kafka::scope_of(descriptions[0].error) == ErrorScope::transport);
    CHECK(txbox::kafka::scope_of(descriptions[1].error) == ErrorScope::transport);
  }
  std::uint64_t tag = 0;
  for (const DeliveryReport& report : await_reports(*producer, 100)) {
    CHECK(report.error == 0);
    CHECK(report.tag == ++tag);
  }
}

TEST_CASE("destroying a producer with records in its queue does not wait for a dead broker") {
  const std::string topic = new_mock_topic();
  auto producer = warm_producer(topic);
  const BrokerDown down;
  for (std::uint64_t tag = 1; tag <= 1'000; ++tag) REQUIRE(produce(*producer, topic, tag) == 0);
  const auto start = std::chrono::steady_clock::now();
  producer.reset();
  CHECK(std::chrono::steady_clock::now() - start < 2s);
}

TEST_CASE("a producer that never met a broker is destroyed at once") {
  txbox::kafka::ProducerOptions options;
  options.properties = {{"bootstrap.servers", "127.0.0.1:1"}};
  auto producer = std::make_unique<Producer>(options);
  producer->add_topic("orders");
  REQUIRE(produce(*producer, "orders", 1) == 0);
  CHECK(producer->cluster_id(10ms).empty());
  CHECK(producer->describe_topics({"orders"}, 100ms).front().error != 0);
  const auto start = std::chrono::steady_clock::now();
  producer.reset();
  CHECK(std::chrono::steady_clock::now() - start < 2s);
}

TEST_CASE("headers are freed once when the partition does not exist, ten thousand times") {
  const std::string topic = new_mock_topic();
  const auto producer = warm_producer(topic);
  const std::array headers{HeaderView{"id", BytesView(std::string_view("e"))}, HeaderView{"n", BytesView()}};
  for (std::uint64_t tag = 1; tag <= 10'000; ++tag) {
    REQUIRE(producer->produce(topic, 999, BytesView(), kPayload, headers, tag) == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
  }
  CHECK(producer->in_queue() == 0);
  CHECK(txbox::kafka::scope_of(RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION) == ErrorScope::topic);
}

TEST_CASE("records for a partition that turns out not to exist are all reported, their headers freed once") {
  const std::string topic = new_mock_topic();
  Producer producer(mock_options());
  const std::array headers{HeaderView{"id", BytesView(std::string_view("e"))}, HeaderView{"n", BytesView()}};
  std::size_t queued = 0;
  {
    // Nothing is known of the topic yet, so that the records are accepted.
    const BrokerDown down;
    producer.add_topic(topic);
    for (std::uint64_t tag = 1; tag <= 10'000; ++tag) {
      REQUIRE(producer.produce(topic, 999, BytesView(), kPayload, headers, tag) == 0);
      ++queued;
    }
  }
  for (const DeliveryReport& report : await_reports(producer, queued)) {
    CHECK(report.error == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION);
    CHECK(report.persistence == Persistence::not_persisted);
  }
}

TEST_CASE("a duplicate sequence number means that the record is there, offset unknown") {
  const std::string topic = new_mock_topic();
  const auto producer = warm_producer(topic);
  mock_kafka().fail_produce(RD_KAFKA_RESP_ERR_DUPLICATE_SEQUENCE_NUMBER, 1);
  REQUIRE(produce(*producer, topic, 1) == 0);
  const DeliveryReport report = await_reports(*producer, 1).front();
  CHECK(report.error == 0);
  CHECK(report.persistence == Persistence::persisted);
  CHECK(report.offset == -1);
}

TEST_CASE("a passing error of the broker is retried by librdkafka without a word") {
  const std::string topic = new_mock_topic();
  const auto producer = warm_producer(topic);
  for (const rd_kafka_resp_err_t error : {RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
                                          RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS}) {
    mock_kafka().fail_produce(error, 1);
    REQUIRE(produce(*producer, topic, 1) == 0);
    CHECK(await_reports(*producer, 1).front().error == 0);
    CHECK(txbox::kafka::scope_of(error) == ErrorScope::transport);
  }
  CHECK(KafkaReader(mock_kafka().bootstrap_servers()).read_all(topic).size() == 4);
}
