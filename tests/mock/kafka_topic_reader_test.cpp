#include <txbox/kafka/topic_reader.hpp>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <txbox/base/error.hpp>
#include <txbox/kafka/producer.hpp>

#include "mock_kafka.hpp"

using namespace std::chrono_literals;
using txbox::Bytes;
using txbox::BytesView;
using txbox::Error;
using txbox::ErrorCode;
using txbox::kafka::HeaderView;
using txbox::kafka::Producer;
using txbox::kafka::Properties;
using txbox::kafka::TopicReader;
using txbox::kafka::TopicRecord;
using txbox::test::await_reports;
using txbox::test::mock_kafka;
using txbox::test::mock_options;
using txbox::test::new_mock_topic;

namespace {

Properties mock_properties() { return {{"bootstrap.servers", mock_kafka().bootstrap_servers()}}; }

/// `count` records spread over the partitions, their payload their number.
void publish(const std::string& topic, int partitions, int first, int count) {
  Producer producer(mock_options());
  producer.add_topic(topic);
  for (int i = first; i < first + count; ++i) {
    const std::string number = std::to_string(i);
    REQUIRE(producer.produce(topic, i % partitions, BytesView(number), BytesView(number), {}, 0) == 0);
  }
  static_cast<void>(await_reports(producer, static_cast<std::size_t>(count)));
}

std::optional<ErrorCode> code_of_construction(const Properties& properties, const std::string& topic) {
  try {
    const TopicReader reader(properties, topic, 2s);
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("a topic is read from its beginning, every partition in its order") {
  const std::string topic = new_mock_topic(3);
  publish(topic, 3, 0, 300);
  TopicReader reader(mock_properties(), topic, 10s);
  std::vector<TopicRecord> records;
  reader.read_to_end(10s, records);
  REQUIRE(records.size() == 300);
  std::array<std::int64_t, 3> next_offset{};
  for (const TopicRecord& record : records) {
    const auto partition = static_cast<std::size_t>(record.partition);
    CHECK(record.offset == next_offset[partition]++);
    CHECK(record.payload == Bytes(std::to_string(record.offset * 3 + record.partition)));
  }
}

TEST_CASE("a second reading goes on where the first one ended") {
  const std::string topic = new_mock_topic(2);
  TopicReader reader(mock_properties(), topic, 10s);
  std::vector<TopicRecord> records;
  reader.read_to_end(10s, records);
  CHECK(records.empty());
  publish(topic, 2, 0, 10);
  reader.read_to_end(10s, records);
  CHECK(records.size() == 10);
  publish(topic, 2, 10, 5);
  reader.read_to_end(10s, records);
  CHECK(records.size() == 15);
}

TEST_CASE("key, payload and headers keep null, empty and bytes apart") {
  const std::string topic = new_mock_topic();
  const Bytes any_bytes(std::string_view("a\0\xff", 3));
  Producer producer(mock_options());
  producer.add_topic(topic);
  const std::array headers{HeaderView{"twice", BytesView()}, HeaderView{"twice", BytesView("")},
                           HeaderView{"b", any_bytes}};
  REQUIRE(producer.produce(topic, 0, BytesView(), BytesView(""), headers, 0) == 0);
  REQUIRE(producer.produce(topic, 0, any_bytes, BytesView(), {}, 1) == 0);
  static_cast<void>(await_reports(producer, 2));

  TopicReader reader(mock_properties(), topic, 10s);
  std::vector<TopicRecord> records;
  reader.read_to_end(10s, records);
  REQUIRE(records.size() == 2);
  CHECK(records[0].key == Bytes());
  CHECK(records[0].payload == Bytes(""));
  CHECK(records[0].headers == txbox::Headers{{"twice", Bytes()}, {"twice", Bytes("")}, {"b", any_bytes}});
  CHECK(records[1].key == any_bytes);
  CHECK(records[1].payload == Bytes());
  CHECK(records[1].headers.empty());
}

TEST_CASE("a broker that does not answer and a property that does not exist are told apart") {
  CHECK(code_of_construction({{"bootstrap.servers", "127.0.0.1:1"}}, "orders") == ErrorCode::broker_unavailable);
  CHECK(code_of_construction({{"no.such.property", "1"}}, "orders") == ErrorCode::configuration);
}
