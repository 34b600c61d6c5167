#include <txbox/kafka/consumer.hpp>

#include <array>
#include <chrono>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <librdkafka/rdkafka.h>

#include <txbox/base/error.hpp>
#include <txbox/base/random.hpp>
#include <txbox/kafka/producer.hpp>

#include "mock_kafka.hpp"
#include "support/kafka_member.hpp"

using namespace std::chrono_literals;
using txbox::Bytes;
using txbox::BytesView;
using txbox::Error;
using txbox::ErrorCode;
using txbox::kafka::CommittedOffset;
using txbox::kafka::ConsumedRecord;
using txbox::kafka::Consumer;
using txbox::kafka::ConsumerEvent;
using txbox::kafka::ConsumerOptions;
using txbox::kafka::HeaderView;
using txbox::kafka::Place;
using txbox::kafka::Position;
using txbox::kafka::Producer;
using txbox::kafka::Properties;
using txbox::test::await_reports;
using txbox::test::KafkaMember;
using txbox::test::mock_kafka;
using txbox::test::mock_options;
using txbox::test::new_mock_topic;
namespace consumer_event = txbox::kafka::consumer_event;

namespace {

constexpr std::int32_t kBroker = 1;

/// A group of its own; the mock cluster never assigns to members whose session is 3 s or shorter.
ConsumerOptions member_options(Properties properties = {}) {
  ConsumerOptions options;
  options.group = "group-" + std::to_string(txbox::random_seed());
  options.properties = {{"session.timeout.ms", "4000"}, {"heartbeat.interval.ms", "200"}, {"fetch.wait.max.ms", "10"}};
  options.properties.insert(options.properties.end(), properties.begin(), properties.end());
  options.properties.emplace_back("bootstrap.servers", mock_kafka().bootstrap_servers());
  return options;
}

/// Payloads are the numbers from `first` on.
void publish(const std::string& topic, std::int32_t partition, int first, int count) {
  Producer producer(mock_options());
  producer.add_topic(topic);
  for (int i = first; i < first + count; ++i) {
    const std::string number = std::to_string(i);
    REQUIRE(producer.produce(topic, partition, BytesView(number), BytesView(number), {}, 0) == 0);
  }
  static_cast<void>(await_reports(producer, static_cast<std::size_t>(count)));
}

std::vector<std::int64_t> range(std::int64_t first, std::int64_t end) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(end - first));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

void assign(Consumer& consumer, const Place& place, std::int64_t offset) {
  const Position position{.place = place, .offset = offset};
  consumer.assign(std::span(&position, 1));
}

}  // namespace

TEST_CASE("a consumer begins exactly where it is told to, and says where the end is") {
  const std::string topic = new_mock_topic();
  publish(topic, 0, 0, 100);
  KafkaMember member(member_options());
  const Place place{topic, 0};
  assign(*member.consumer, place, 42);
  member.await([&] { return member.ends.contains(place); });
  CHECK(member.offsets() == range(42, 100));
  CHECK(member.records.front().payload == "42");
  CHECK(member.ends[place] == 100);
  publish(topic, 0, 100, 3);
  member.await([&] { return member.ends[place] == 103; });
  CHECK(member.offsets() == range(42, 103));
}

TEST_CASE("assigning anew moves the position forth and back, and forgets what was prefetched") {
  const std::string topic = new_mock_topic();
  publish(topic, 0, 0, 200);
  KafkaMember member(member_options());
  assign(*member.consumer, {topic, 0}, 0);
  member.await_records(20);
  for (const std::int64_t offset : {150, 7, 199, 0}) {
    CAPTURE(offset);
    assign(*member.consumer, {topic, 0}, offset);
    member.records.clear();
    member.await_records(1);
    CHECK(member.offsets().front() == offset);
  }
}

TEST_CASE("assigning again and again at once ends no partition twice") {
  const std::string topic = new_mock_topic(4);
  publish(topic, 0, 0, 10);
  KafkaMember member(member_options());
  std::vector<Position> all(4);
  for (std::int32_t partition = 0; Position & position : all) position = {{topic, partition++}, 0};
  for (int round = 0; round < 300; ++round) {
    member.consumer->assign(all);
    if (round % 3 == 0) member.step(std::chrono::milliseconds(1));  // Some are being read by now.
    member.consumer->unassign();
    member.consumer->assign(all);
    member.consumer->assign(all);
  }
  member.records.clear();
  assign(*member.consumer, {topic, 0}, 3);
  member.await([&] { return member.ends.contains(Place{topic, 0}); });
  CHECK(member.offsets() == range(3, 10));
}

TEST_CASE("a record keeps null, empty and bytes apart, and outlives polls and its consumer") {
  const std::string topic = new_mock_topic();
  const Bytes any_bytes(std::string_view("a\0\xff", 3));
  {
    Producer producer(mock_options());
    producer.add_topic(topic);
    const std::array headers{HeaderView{"twice", BytesView()}, HeaderView{"twice", BytesView("")},
                             HeaderView{"b", any_bytes}, HeaderView{"", BytesView("x")}};
    REQUIRE(producer.produce(topic, 0, BytesView(), BytesView(""), headers, 0) == 0);
    REQUIRE(producer.produce(topic, 0, any_bytes, BytesView(), {}, 1) == 0);
    REQUIRE(producer.produce(topic, 0, BytesView(""), any_bytes, {}, 2) == 0);
    static_cast<void>(await_reports(producer, 3));
  }
  std::vector<ConsumedRecord> records;
  {
    Consumer consumer(member_options());
    assign(consumer, {topic, 0}, 0);
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (records.size() < 3 && std::chrono::steady_clock::now() < end) {
      std::optional<ConsumerEvent> event = consumer.poll(100ms);
      if (event && std::holds_alternative<consumer_event::Record>(*event)) {
        records.push_back(std::move(std::get<consumer_event::Record>(*event).record));
      }
    }
  }
  REQUIRE(records.size() == 3);
  CHECK(records[0].topic() == topic);
  CHECK(records[0].partition() == 0);
  CHECK(records[0].offset() == 0);
  CHECK(records[0].timestamp_ms() > 1'600'000'000'000);
  CHECK(records[0].key() == BytesView());
  CHECK(records[0].payload() == BytesView(""));
  CHECK(records[0].headers() ==
        txbox::Headers{{"twice", Bytes()}, {"twice", Bytes("")}, {"b", any_bytes}, {"", Bytes("x")}});
  txbox::Headers used{{"of another", Bytes("record")}, {"b", Bytes("long before")}};
  records[0].copy_headers(used);
  CHECK(used == records[0].headers());
  records[1].copy_headers(used);
  CHECK(used.empty());
  CHECK(records[0].last_header("twice") == BytesView(""));
  CHECK(records[0].last_header("b") == BytesView(any_bytes));
  CHECK(records[0].last_header("") == BytesView("x"));
  CHECK_FALSE(records[0].last_header("other").has_value());
  CHECK(records[1].key() == BytesView(any_bytes));
  CHECK(records[1].payload() == BytesView());
  CHECK(records[1].headers().empty());
  CHECK_FALSE(records[1].last_header("twice").has_value());
  CHECK(records[2].key() == BytesView(""));
  CHECK(records[2].payload() == BytesView(any_bytes));
}

TEST_CASE("a place that is paused in mid-prefetch is silent, and goes on with the next record") {
  const std::string topic = new_mock_topic(2);
  publish(topic, 0, 0, 500);
  KafkaMember member(member_options());
  const Place place{topic, 0};
  const std::array positions{Position{place, 0}, Position{{topic, 1}, 0}};
  member.consumer->assign(positions);
  member.await_records(100);
  for (int round = 0; round < 3; ++round) {
    const std::size_t before = member.records.size();
    member.consumer->pause(place);
    member.consumer->pause(place);
    // The other place's records prove that time and polls passed.
    publish(topic, 1, round * 10, 10);
    member.await([&] { return member.offsets(1).size() == static_cast<std::size_t>(round + 1) * 10; });
    CHECK(member.offsets(0).size() + member.offsets(1).size() == before + 10);
    member.consumer->resume(place);
    member.await_records(before + 10 + 50);
    CHECK(member.offsets(0) == range(0, static_cast<std::int64_t>(member.offsets(0).size())));
  }
}

TEST_CASE("resuming what is not paused does nothing, however often") {
  const std::string topic = new_mock_topic();
  publish(topic, 0, 0, 300);
  KafkaMember member(member_options());
  const Place place{topic, 0};
  assign(*member.consumer, place, 0);
  member.await_records(100);
  member.consumer->resume(place);
  member.consumer->pause(place);
  member.consumer->resume(place);
  member.consumer->resume(place);
  member.await_records(200);
  member.consumer->resume(place);
  member.consumer->pause({topic, 7});
  member.consumer->resume({"no-such-topic", 0});
  member.await([&] { return member.ends.contains(place); });
  CHECK(member.offsets() == range(0, 300));
}

TEST_CASE("no pause survives a new assignment or giving everything back") {
  const std::string topic = new_mock_topic();
  publish(topic, 0, 0, 100);
  KafkaMember member(member_options());
  const Place place{topic, 0};
  assign(*member.consumer, place, 0);
  member.await_records(30);
  member.consumer->pause(place);
  assign(*member.consumer, place, 10);
  member.records.clear();
  member.await([&] { return member.ends[place] == 100; });
  CHECK(member.offsets() == range(10, 100));

  member.consumer->pause(place);
  member.consumer->unassign();
  assign(*member.consumer, place, 95);
  member.records.clear();
  member.await_records(5);
  CHECK(member.offsets() == range(95, 100));
}

TEST_CASE("a pause before the first record keeps the position that was assigned") {
  const std::string topic = new_mock_topic();
  publish(topic, 0, 0, 100);
  KafkaMember member(member_options());
  const Place place{topic, 0};
  assign(*member.consumer, place, 0);
  member.await_records(60);
  assign(*member.consumer, place, 25);
  member.consumer->pause(place);
  member.records.clear();
  member.consumer->resume(place);
  member.await_records(75);
  CHECK(member.offsets() == range(25, 100));
}

TEST_CASE("a group assigns, and commits travel with their text") {
  const std::string topic = new_mock_topic(2);
  publish(topic, 0, 0, 10);
  publish(topic, 1, 0, 10);
  const ConsumerOptions options = member_options();
  KafkaMember member(options);
  member.consumer->subscribe({topic});
  member.await_records(20);
  CHECK(member.assignments == 1);
  CHECK(member.assigned == std::vector<Place>{{topic, 0}, {topic, 1}});

  const CommittedOffset first{{topic, 0}, 7, "txbox1:0190:e1"};
  CHECK(member.consumer->commit_and_wait(first, 10s) == 0);
  member.consumer->commit({{topic, 1}, 9, ""});
  const std::array places{Place{topic, 1}, Place{topic, 0}};
  std::vector<CommittedOffset> committed;
  member.await([&] {
    committed = member.consumer->committed(places, 10s);
    return committed[0].offset == 9;
  });
  CHECK(committed == std::vector<CommittedOffset>{{{topic, 1}, 9, ""}, first});
  CHECK(member.commits_failed.empty());
  CHECK(member.consumer->committed({}, 10s).empty());

  ConsumerOptions other = options;
  other.group += "-other";
  CHECK(Consumer(other).committed(places, 10s) ==
        std::vector<CommittedOffset>{{{topic, 1}, -1, ""}, {{topic, 0}, -1, ""}});
}

TEST_CASE("a text that librdkafka would cut is refused") {
  Consumer consumer(member_options());
  CHECK_THROWS_AS(consumer.commit({{"orders", 0}, 1, std::string("a\0b", 3)}), Error);
}

TEST_CASE("watermarks and the cluster's id are known without an assignment") {
  const std::string topic = new_mock_topic(2);
  publish(topic, 1, 0, 12);
  Consumer consumer(member_options());
  CHECK(consumer.watermarks({topic, 1}, 10s).low == 0);
  CHECK(consumer.watermarks({topic, 1}, 10s).high == 12);
  CHECK(consumer.watermarks({topic, 0}, 10s).high == 0);
  CHECK_FALSE(consumer.cluster_id(10s).empty());
}

TEST_CASE("without a broker every question ends in time, and so does the consumer") {
  ConsumerOptions options = member_options({{"bootstrap.servers", "127.0.0.1:1"}});
  options.properties.pop_back();
  const auto begin = std::chrono::steady_clock::now();
  {
    KafkaMember member(options);
    member.consumer->subscribe({"orders"});
    member.await([&] { return !member.troubles.empty(); });
    CHECK(member.troubles.front().error == RD_KAFKA_RESP_ERR__TRANSPORT);
    const Place place{"orders", 0};
    CHECK_THROWS_AS(static_cast<void>(member.consumer->watermarks(place, 200ms)), Error);
    CHECK_THROWS_AS(static_cast<void>(member.consumer->committed(std::span(&place, 1), 200ms)), Error);
    CHECK(member.consumer->commit_and_wait({place, 1, ""}, 200ms) != 0);
    CHECK(member.consumer->cluster_id(200ms).empty());
    member.consumer->commit({place, 1, ""});
  }
  CHECK(std::chrono::steady_clock::now() - begin < 15s);
}

TEST_CASE("a member whose broker is gone or silent still ends within seconds") {
  for (const bool silent : {false, true}) {
    CAPTURE(silent);
    const std::string topic = new_mock_topic();
    publish(topic, 0, 0, 100);
    std::optional<KafkaMember> member(std::in_place, member_options());
    member->consumer->subscribe({topic});
    member->await_records(50);
    if (silent) {
      mock_kafka().set_round_trip_ms(kBroker, 30'000);
    } else {
      mock_kafka().set_broker_down(kBroker, true);
    }
    member->consumer->commit({{topic, 0}, 50, "text"});
    const auto begin = std::chrono::steady_clock::now();
    CHECK(member->consumer->commit_and_wait({{topic, 0}, 50, "text"}, 300ms) != 0);
    member.reset();
    CHECK(std::chrono::steady_clock::now() - begin < 15s);
    mock_kafka().set_round_trip_ms(kBroker, 0);
    mock_kafka().set_broker_down(kBroker, false);
  }
}

TEST_CASE("a place that is resumed goes on at once") {
  const std::string topic = new_mock_topic();
  publish(topic, 0, 0, 1'000);
  KafkaMember member(member_options());
  const Place place{topic, 0};
  assign(*member.consumer, place, 0);
  member.await_records(1);
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t records = 50; records <= 500; records += 50) {
    member.consumer->pause(place);
    member.step();
    member.consumer->resume(place);
    member.await_records(records);
  }
  // librdkafka alone looks again after a second, ten times here.
  CHECK(std::chrono::steady_clock::now() - begin < 4s);
  CHECK(member.offsets() == range(0, 500));
}

TEST_CASE("a group without a name and a property that breaks a promise are refused") {
  ConsumerOptions options = member_options();
  options.group.clear();
  CHECK_THROWS_AS(Consumer{options}, Error);
  CHECK_THROWS_AS(Consumer{member_options({{"enable.auto.commit", "true"}})}, Error);
  // Found by librdkafka itself, and only when the client is made.
  CHECK_THROWS_AS(Consumer{member_options({{"max.poll.interval.ms", "1000"}})}, Error);
}
