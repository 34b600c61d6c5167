#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <librdkafka/rdkafka.h>

#include <txbox/kafka/errors.hpp>
#include <txbox/kafka/producer.hpp>

#include "kafka_broker.hpp"
#include "support/kafka_admin.hpp"
#include "support/kafka_reader.hpp"

using namespace std::chrono_literals;
using txbox::Bytes;
using txbox::BytesView;
using txbox::kafka::DeliveryReport;
using txbox::kafka::ErrorScope;
using txbox::kafka::HeaderView;
using txbox::kafka::Persistence;
using txbox::kafka::Producer;
using txbox::kafka::ProducerOptions;
using txbox::kafka::scope_of;
using txbox::kafka::TopicDescription;
using txbox::test::bootstrap_servers;
using txbox::test::KafkaAdmin;
using txbox::test::KafkaReader;
using txbox::test::ReadRecord;
using txbox::test::unique_topic;

namespace {

ProducerOptions real_options(txbox::kafka::Properties properties = {}) {
  ProducerOptions options;
  options.properties = std::move(properties);
  options.properties.emplace_back("bootstrap.servers", bootstrap_servers());
  return options;
}

std::unique_ptr<Producer> make_producer(const std::string& topic, const ProducerOptions& options = real_options()) {
  auto producer = std::make_unique<Producer>(options);
  producer->add_topic(topic);
  return producer;
}

std::vector<DeliveryReport> await_reports(Producer& producer, std::size_t count) {
  const auto end = std::chrono::steady_clock::now() + 30s;
  std::vector<DeliveryReport> reports;
  while (reports.size() < count && std::chrono::steady_clock::now() < end) producer.poll(1s, reports);
  REQUIRE(reports.size() == count);
  return reports;
}

int produce(Producer& producer, const std::string& topic, std::uint64_t tag, std::size_t size = 100) {
  const std::string payload(size, 'x');
  const std::string id = "event-" + std::to_string(tag);
  const std::array headers{HeaderView{"id", BytesView(id)}};
  return producer.produce(topic, 0, BytesView(std::string_view("k")), BytesView(payload), headers, tag);
}

bool all(const std::vector<DeliveryReport>& reports, int error, Persistence persistence) {
  return std::all_of(reports.begin(), reports.end(), [=](const DeliveryReport& report) {
    return report.error == error && report.persistence == persistence;
  });
}

}  // namespace

TEST_CASE("a real Kafka keeps key, payload and headers byte for byte") {
  KafkaAdmin admin(bootstrap_servers());
  const std::string topic = unique_topic("bytes");
  admin.create_topic(topic, 2);
  const auto producer = make_producer(topic);
  const std::array values{Bytes(), Bytes(""), Bytes(std::string_view("\0", 1)),
                          Bytes(std::string_view("a\0\xff\n", 4))};
  std::size_t count = 0;
  for (const Bytes& key : values) {
    for (const Bytes& payload : values) {
      const std::array headers{HeaderView{"id", BytesView(std::string_view("e"))}, HeaderView{"twice", values[0]},
                               HeaderView{"twice", values[1]}, HeaderView{"", values[2]}};
      REQUIRE(producer->produce(topic, 1, key, payload, headers, count++) == 0);
    }
  }
  CHECK(all(await_reports(*producer, count), 0, Persistence::persisted));
  const std::vector<ReadRecord> records = KafkaReader(bootstrap_servers()).read_all(topic);
  REQUIRE(records.size() == count);
  const txbox::Headers headers{{"id", "e"}, {"twice", nullptr}, {"twice", ""}, {"", values[2]}};
  for (std::size_t index = 0; index < count; ++index) {
    CHECK(records[index].partition == 1);
    CHECK(records[index].key == values[index / values.size()]);
    CHECK(records[index].payload == values[index % values.size()]);
    CHECK(records[index].headers == headers);
  }
}

TEST_CASE("a topic's own limits are described, and its defaults where it has none") {
  KafkaAdmin admin(bootstrap_servers());
  const std::string plain = unique_topic("plain");
  const std::string special = unique_topic("special");
  const std::string missing = unique_topic("missing");
  admin.create_topic(plain, 5);
  admin.create_topic(special, 2, {{"max.message.bytes", "123456"}, {"cleanup.policy", "compact,delete"}});
  Producer producer(real_options());
  const std::vector<TopicDescription> described = producer.describe_topics({plain, missing, special}, 10s);
  REQUIRE(described.size() == 3);
  CHECK(described[0].name == plain);
  CHECK(described[0].error == 0);
  CHECK(described[0].partitions == 5);
  CHECK(described[0].limits_known);
  CHECK(described[0].message_bytes_max == 1'048'588);
  CHECK_FALSE(described[0].compacted);
  CHECK(described[1].error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  CHECK(described[1].partitions == 0);
  CHECK_FALSE(described[1].limits_known);
  CHECK(described[2].partitions == 2);
  CHECK(described[2].limits_known);
  CHECK(described[2].message_bytes_max == 123'456);
  CHECK(described[2].compacted);
  CHECK(producer.cluster_id(5s).size() == 22);
}

TEST_CASE("neither describing nor producing creates a missing topic, even where the broker would") {
  KafkaAdmin admin(bootstrap_servers());
  const std::string topic = unique_topic("never-made");
  const auto producer = make_producer(topic, real_options({{"topic.metadata.propagation.max.ms", "1000"}}));
  CHECK(producer->describe_topics({topic}, 5s).front().error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  REQUIRE(produce(*producer, topic, 1) == 0);
  const DeliveryReport report = await_reports(*producer, 1).front();
  CHECK(scope_of(report.error) == ErrorScope::topic);
  CHECK(report.persistence == Persistence::not_persisted);
  CHECK(scope_of(produce(*producer, topic, 2)) == ErrorScope::topic);
  CHECK_FALSE(producer->fatal());
  // With every topic in its cache librdkafka 2.0.2 would ask for all of them with the flag that creates.
  CHECK(producer->describe_topics({topic, topic}, 5s).back().error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  CHECK_FALSE(admin.exists(topic));
}

TEST_CASE("a batch above the topic's limit is refused whole, and a batch limit from the description lets it pass") {
  KafkaAdmin admin(bootstrap_servers());
  const std::string topic = unique_topic("small-batches");
  admin.create_topic(topic, 1, {{"max.message.bytes", "5000"}});
  const auto producer = make_producer(topic, real_options({{"linger.ms", "200"}}));
  for (std::uint64_t tag = 1; tag <= 300; ++tag) REQUIRE(produce(*producer, topic, tag) == 0);
  CHECK(all(await_reports(*producer, 300), RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, Persistence::not_persisted));
  CHECK(producer->fatal());
  CHECK(scope_of(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE) == ErrorScope::record);
  CHECK(KafkaReader(bootstrap_servers()).read_all(topic).empty());

  ProducerOptions options = real_options({{"linger.ms", "200"}});
  options.batch_bytes_max = producer->describe_topics({topic}, 5s).front().message_bytes_max;
  CHECK(options.batch_bytes_max == 5'000);
  const auto careful_producer = make_producer(topic, options);
  for (std::uint64_t tag = 1; tag <= 300; ++tag) REQUIRE(produce(*careful_producer, topic, tag) == 0);
  CHECK(all(await_reports(*careful_producer, 300), 0, Persistence::persisted));
  CHECK(KafkaReader(bootstrap_servers()).read_all(topic).size() == 300);
}

TEST_CASE("with one record a batch the refusal names its record, and nothing behind it lands") {
  KafkaAdmin admin(bootstrap_servers());
  const std::string topic = unique_topic("culprit");
  admin.create_topic(topic, 1, {{"max.message.bytes", "5000"}});
  ProducerOptions options = real_options();
  options.one_record_a_batch = true;
  const auto producer = make_producer(topic, options);
  constexpr std::uint64_t kCulprit = 50;
  std::size_t accepted = 0;
  for (std::uint64_t tag = 1; tag <= 100; ++tag) {
    if (produce(*producer, topic, tag, tag == kCulprit ? 9'000 : 100) == 0) ++accepted;
  }
  std::vector<DeliveryReport> reports;
  while (!producer->fatal()) producer->poll(1s, reports);
  producer->purge();
  while (producer->in_queue() > 0) producer->poll(1s, reports);
  CHECK(reports.size() == accepted);
  std::vector<std::uint64_t> sent;
  for (const DeliveryReport& report : reports) {
    if (report.persistence == Persistence::persisted) sent.push_back(report.tag);
    if (report.tag == kCulprit) {
      CHECK(report.error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
      CHECK(report.persistence == Persistence::not_persisted);
    } else {
      CHECK(report.error != RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
    }
  }
  const std::vector<ReadRecord> records = KafkaReader(bootstrap_servers()).read_all(topic);
  REQUIRE(records.size() == kCulprit - 1);
  CHECK(sent.size() <= records.size());
  for (std::size_t index = 0; index < records.size(); ++index) {
    CHECK(records[index].headers.last("id")->value == Bytes("event-" + std::to_string(index + 1)));
  }
}

TEST_CASE("a null key on a compacted topic is refused as a record") {
  KafkaAdmin admin(bootstrap_servers());
  const std::string topic = unique_topic("compacted");
  admin.create_topic(topic, 1, {{"cleanup.policy", "compact"}});
  const auto producer = make_producer(topic);
  REQUIRE(producer->produce(topic, 0, BytesView(), BytesView(std::string_view("x")), {}, 1) == 0);
  const DeliveryReport report = await_reports(*producer, 1).front();
  CHECK(report.error == RD_KAFKA_RESP_ERR_INVALID_RECORD);
  CHECK(report.persistence == Persistence::not_persisted);
  CHECK(scope_of(report.error) == ErrorScope::record);
}

TEST_CASE("a topic deleted under the producer fails as a topic, and a new producer finds it recreated at offset 0") {
  KafkaAdmin admin(bootstrap_servers());
  const std::string topic = unique_topic("recreated");
  admin.create_topic(topic, 1);
  // A record for a topic that vanished waits until librdkafka looks again.
  const auto producer = make_producer(topic, real_options({{"topic.metadata.refresh.interval.ms", "1000"},
                                                           {"topic.metadata.propagation.max.ms", "1000"}}));
  for (std::uint64_t tag = 1; tag <= 10; ++tag) REQUIRE(produce(*producer, topic, tag) == 0);
  CHECK(await_reports(*producer, 10).back().offset == 9);
  admin.delete_topic(topic);

  int error = 0;
  std::vector<DeliveryReport> reports;
  const auto end = std::chrono::steady_clock::now() + 30s;
  for (std::uint64_t tag = 11; error == 0 && std::chrono::steady_clock::now() < end; ++tag) {
    error = produce(*producer, topic, tag);
    reports.clear();
    producer->poll(50ms, reports);
    for (const DeliveryReport& report : reports) {
      CHECK(report.persistence == Persistence::not_persisted);
      error = report.error;
    }
  }
  CHECK(scope_of(error) == ErrorScope::topic);
  CHECK_FALSE(producer->fatal());
  producer->purge();
  CHECK_FALSE(admin.exists(topic));

  admin.create_topic(topic, 1);
  const auto new_producer = make_producer(topic);
  REQUIRE(produce(*new_producer, topic, 1) == 0);
  const DeliveryReport report = await_reports(*new_producer, 1).front();
  CHECK(report.error == 0);
  CHECK(report.offset == 0);
}

TEST_CASE("each compression arrives whole and compressed") {
  KafkaAdmin admin(bootstrap_servers());
  for (const char* codec : {"gzip", "snappy", "lz4", "zstd"}) {
    CAPTURE(codec);
    const std::string topic = unique_topic(codec);
    // The limit holds for the batch as sent: uncompressed, half a megabyte would be refused.
    admin.create_topic(topic, 1, {{"max.message.bytes", "100000"}});
    const auto producer = make_producer(topic, real_options({{"compression.type", codec}, {"linger.ms", "200"}}));
    for (std::uint64_t tag = 1; tag <= 500; ++tag) REQUIRE(produce(*producer, topic, tag, 1'000) == 0);
    CHECK(all(await_reports(*producer, 500), 0, Persistence::persisted));
    const std::vector<ReadRecord> records = KafkaReader(bootstrap_servers()).read_all(topic);
    REQUIRE(records.size() == 500);
    CHECK(records.back().payload == Bytes(std::string(1'000, 'x')));
  }
}
