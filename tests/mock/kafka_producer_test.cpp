#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <librdkafka/rdkafka.h>
#include <poll.h>

#include <txbox/base/error.hpp>
#include <txbox/kafka/producer.hpp>

#include "mock_kafka.hpp"
#include "support/kafka_reader.hpp"

using namespace std::chrono_literals;
using txbox::Bytes;
using txbox::BytesView;
using txbox::kafka::DeliveryReport;
using txbox::kafka::HeaderView;
using txbox::kafka::Persistence;
using txbox::kafka::Producer;
using txbox::test::await_reports;
using txbox::test::KafkaReader;
using txbox::test::mock_kafka;
using txbox::test::mock_options;
using txbox::test::new_mock_topic;
using txbox::test::ReadRecord;

namespace {

const Bytes kNull;
const Bytes kEmpty("");
const Bytes kNul(std::string_view("\0", 1));
const Bytes kAnyBytes(std::string_view("a\0\xff\x80\nz", 6));

std::chrono::milliseconds since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
}

}  // namespace

TEST_CASE("key, payload and header values arrive byte for byte, null and empty kept apart") {
  const std::string topic = new_mock_topic();
  Producer producer(mock_options());
  producer.add_topic(topic);
  const std::array values{kNull, kEmpty, kNul, kAnyBytes};
  std::size_t count = 0;
  for (const Bytes& key : values) {
    for (const Bytes& payload : values) {
      const std::array headers{HeaderView{"id", BytesView("e-1")}, HeaderView{"twice", kNull},
                               HeaderView{"twice", kEmpty}, HeaderView{"", kNul}, HeaderView{"bytes", kAnyBytes}};
      REQUIRE(producer.produce(topic, 0, key, payload, headers, count++) == 0);
    }
  }
  for (const DeliveryReport& report : await_reports(producer, count)) CHECK(report.error == 0);

  KafkaReader reader(mock_kafka().bootstrap_servers());
  const std::vector<ReadRecord> records = reader.read_all(topic);
  REQUIRE(records.size() == count);
  const txbox::Headers headers{{"id", "e-1"}, {"twice", nullptr}, {"twice", ""}, {"", kNul}, {"bytes", kAnyBytes}};
  for (std::size_t index = 0; index < count; ++index) {
    CHECK(records[index].key == values[index / values.size()]);
    CHECK(records[index].payload == values[index % values.size()]);
    CHECK(records[index].headers == headers);
  }
}

TEST_CASE("a record without headers arrives without headers, and one with a thousand keeps them in order") {
  const std::string topic = new_mock_topic();
  Producer producer(mock_options());
  producer.add_topic(topic);
  std::vector<std::string> names;
  for (int index = 0; index < 1'000; ++index) names.push_back("header-" + std::to_string(index));
  std::vector<HeaderView> headers;
  for (const std::string& name : names) headers.push_back({name, BytesView(name)});
  REQUIRE(producer.produce(topic, 0, kNull, kEmpty, {}, 1) == 0);
  REQUIRE(producer.produce(topic, 0, kNull, kEmpty, headers, 2) == 0);
  CHECK(await_reports(producer, 2).back().error == 0);

  const std::vector<ReadRecord> records = KafkaReader(mock_kafka().bootstrap_servers()).read_all(topic);
  REQUIRE(records.size() == 2);
  CHECK(records[0].headers.empty());
  REQUIRE(records[1].headers.size() == names.size());
  std::size_t index = 0;
  for (const txbox::Header& header : records[1].headers) CHECK(header.name == names[index++]);
}

TEST_CASE("reports carry tag, partition, offset and status, in the order of a partition") {
  const std::string topic = new_mock_topic(3);
  Producer producer(mock_options());
  producer.add_topic(topic);
  for (std::uint64_t tag = 0; tag < 300; ++tag) {
    REQUIRE(producer.produce(topic, static_cast<std::int32_t>(tag % 3), kNull, BytesView("x"), {}, tag) == 0);
  }
  CHECK(producer.in_queue() == 300);
  std::array<std::uint64_t, 3> next_tag{0, 1, 2};
  for (const DeliveryReport& report : await_reports(producer, 300)) {
    REQUIRE(report.partition >= 0);
    const auto partition = static_cast<std::size_t>(report.partition);
    CHECK(report.tag == next_tag.at(partition));
    CHECK(report.offset == static_cast<std::int64_t>(report.tag / 3));
    CHECK(report.persistence == Persistence::persisted);
    next_tag.at(partition) += 3;
  }
  CHECK(producer.in_queue() == 0);
}

TEST_CASE("the largest tag comes back whole") {
  const std::string topic = new_mock_topic();
  Producer producer(mock_options());
  producer.add_topic(topic);
  constexpr std::uint64_t kTag = 0xfedc'ba98'7654'3210U;
  REQUIRE(producer.produce(topic, 0, kNull, kEmpty, {}, kTag) == 0);
  CHECK(await_reports(producer, 1).front().tag == kTag);
}

TEST_CASE("the first record of a never used topic is acknowledged within 200 ms") {
  // From 2.10 on librdkafka leaves the bootstrap connection at once, and asks for its producer id half a second later.
  const std::chrono::milliseconds first_limit = rd_kafka_version() < 0x020a0000 ? 200ms : 1'500ms;
  const std::string topic = new_mock_topic();
  Producer producer(mock_options());
  producer.add_topic(topic);
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(producer.produce(topic, 0, kNull, kEmpty, {}, 1) == 0);
  CHECK(await_reports(producer, 1).front().error == 0);
  CHECK(since(start) < first_limit);

  const std::string second_topic = new_mock_topic();
  producer.add_topic(second_topic);
  const auto second_start = std::chrono::steady_clock::now();
  REQUIRE(producer.produce(second_topic, 0, kNull, kEmpty, {}, 2) == 0);
  CHECK(await_reports(producer, 1).front().error == 0);
  CHECK(since(second_start) < 200ms);
}

TEST_CASE("the descriptor becomes readable when a report is there, and again after it was drained") {
  const std::string topic = new_mock_topic();
  Producer producer(mock_options());
  producer.add_topic(topic);
  for (std::uint64_t tag = 0; tag < 3; ++tag) {
    REQUIRE(producer.produce(topic, 0, kNull, kEmpty, {}, tag) == 0);
    std::vector<DeliveryReport> reports;
    while (reports.empty()) {
      pollfd descriptor{.fd = producer.report_descriptor(), .events = POLLIN, .revents = 0};
      REQUIRE(::poll(&descriptor, 1, 10'000) == 1);
      producer.drain_report_descriptor();
      producer.poll(0ms, reports);
    }
    CHECK(reports.front().tag == tag);
  }
  pollfd descriptor{.fd = producer.report_descriptor(), .events = POLLIN, .revents = 0};
  producer.drain_report_descriptor();
  CHECK(::poll(&descriptor, 1, 0) == 0);
}

TEST_CASE("topics are described without the limits that the mock cluster cannot tell, and at once") {
  const std::string topic = new_mock_topic(7);
  Producer producer(mock_options());
  const auto start = std::chrono::steady_clock::now();
  const auto descriptions = producer.describe_topics({topic, topic}, 5s);
  CHECK(since(start) < 2s);
  REQUIRE(descriptions.size() == 2);
  CHECK(descriptions[0].name == topic);
  CHECK(descriptions[0].error == 0);
  CHECK(descriptions[0].partitions == 7);
  CHECK(descriptions[0].message_bytes_max == 1'048'588);
  CHECK_FALSE(descriptions[0].limits_known);
  CHECK(producer.describe_topics({}, 5s).empty());
}

TEST_CASE("the cluster tells its id") {
  Producer producer(mock_options());
  CHECK_FALSE(producer.cluster_id(5s).empty());
}

TEST_CASE("a producer that cannot be configured says which property is wrong") {
  const auto text_of = [](txbox::kafka::ProducerOptions options) -> std::string {
    try {
      Producer producer(options);
    } catch (const txbox::Error& error) {
      CHECK(error.code() == txbox::ErrorCode::configuration);
      return error.what();
    }
    return "no error";
  };
  CHECK(text_of({}).find("bootstrap.servers") != std::string::npos);
  CHECK(text_of(mock_options({{"acks", "1"}})).find("acks") != std::string::npos);
  CHECK(text_of(mock_options({{"ssl.ca.location", "/no/such/file"}, {"security.protocol", "ssl"}}))
            .find("ssl.ca.location") != std::string::npos);
}

TEST_CASE("librdkafka's log lines reach the sink from poll()") {
  std::vector<std::string> lines;
  auto options = mock_options({{"debug", "broker"}});
  options.log = [&](txbox::LogLevel, std::string_view text) { lines.emplace_back(text); };
  Producer producer(options);
  CHECK(lines.empty());
  const std::string topic = new_mock_topic();
  producer.add_topic(topic);
  REQUIRE(producer.produce(topic, 0, kNull, kEmpty, {}, 1) == 0);
  CHECK(await_reports(producer, 1).front().error == 0);
  CHECK_FALSE(lines.empty());
}

TEST_CASE("our own choice of properties is no warning") {
  std::vector<std::string> warnings;
  auto options = mock_options();
  options.log = [&](txbox::LogLevel level, std::string_view text) {
    if (level >= txbox::LogLevel::warning) warnings.emplace_back(text);
  };
  const std::string topic = new_mock_topic();
  Producer producer(options);
  producer.add_topic(topic);
  REQUIRE(producer.produce(topic, 0, kNull, kEmpty, {}, 1) == 0);
  CHECK(await_reports(producer, 1).front().error == 0);
  for (const std::string& warning : warnings) {
    CAPTURE(warning);
    CHECK(warning.find("enable.gapless.guarantee") == std::string::npos);
  }
}

TEST_CASE("what the log sink throws comes out of poll() and costs no report") {
  auto options = mock_options({{"debug", "broker"}});
  options.log = [](txbox::LogLevel, std::string_view) { throw std::runtime_error("sink is full"); };
  Producer producer(options);
  const std::string topic = new_mock_topic();
  producer.add_topic(topic);
  REQUIRE(producer.produce(topic, 0, kNull, kEmpty, {}, 1) == 0);
  std::vector<DeliveryReport> reports;
  int thrown = 0;
  while (reports.empty()) {
    try {
      producer.poll(10s, reports);
    } catch (const std::runtime_error&) {
      ++thrown;
    }
  }
  CHECK(thrown > 0);
  CHECK(reports.front().error == 0);
}
