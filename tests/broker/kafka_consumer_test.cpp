#include <txbox/kafka/consumer.hpp>

#include <array>
#include <chrono>
#include <fstream>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <librdkafka/rdkafka.h>

#include "kafka_broker.hpp"
#include "support/kafka_admin.hpp"
#include "support/kafka_member.hpp"

using namespace std::chrono_literals;
using txbox::kafka::CommittedOffset;
using txbox::kafka::Consumer;
using txbox::kafka::ConsumerEvent;
using txbox::kafka::Place;
using txbox::kafka::Position;
using txbox::test::bootstrap_servers;
using txbox::test::consumer_options;
using txbox::test::KafkaAdmin;
using txbox::test::KafkaMember;
using txbox::test::KafkaTransaction;
using txbox::test::publish;
using txbox::test::unique_topic;
namespace consumer_event = txbox::kafka::consumer_event;

namespace {

std::string new_topic(const std::string& prefix, int partitions = 1) {
  std::string topic = unique_topic(prefix);
  KafkaAdmin(bootstrap_servers()).create_topic(topic, partitions);
  return topic;
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

/// In MB; `what` is a line of proc_pid_status(5).
long memory_mb(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(what + ":")) return std::stol(line.substr(what.size() + 1)) / 1024;
  }
  return -1;
}

}  // namespace

TEST_CASE("a real Kafka is read from exactly the offsets that were assigned") {
  const std::string topic = new_topic("exact", 2);
  publish(topic, 0, 0, 1'000);
  publish(topic, 1, 0, 1'000);
  KafkaMember member(consumer_options());
  const std::array positions{Position{{topic, 0}, 990}, Position{{topic, 1}, 3}};
  member.consumer->assign(positions);
  member.await([&] { return member.ends.size() == 2; });
  CHECK(member.offsets(0) == range(990, 1'000));
  CHECK(member.offsets(1) == range(3, 1'000));
  CHECK(member.records.front().payload == std::to_string(member.records.front().offset));
  CHECK(member.consumer->watermarks({topic, 0}, 10s).high == 1'000);
  CHECK(member.consumer->cluster_id(10s).size() == 22);
}

TEST_CASE("pausing in mid-prefetch and resuming twice loses and repeats nothing on a real Kafka") {
  const std::string topic = new_topic("pause");
  publish(topic, 0, 0, 20'000);
  KafkaMember member(consumer_options());
  const Place place{topic, 0};
  assign(*member.consumer, place, 0);
  for (std::size_t goal = 1'000; goal < 20'000; goal += 1'000) {
    member.await_records(goal);
    member.consumer->pause(place);
    member.step();
    REQUIRE(member.records.size() == goal);
    member.consumer->resume(place);
    member.consumer->resume(place);
  }
  member.await([&] { return member.ends.contains(place); });
  CHECK(member.offsets() == range(0, 20'000));
}

TEST_CASE("the end of a partition is behind the markers of its transactions") {
  const std::string topic = new_topic("markers");
  KafkaTransaction transaction;
  transaction.begin();
  transaction.produce(topic, 0, 5);
  transaction.commit();
  transaction.begin();
  transaction.produce(topic, 0, 3);
  transaction.abort();
  KafkaMember member(consumer_options());
  const Place place{topic, 0};
  assign(*member.consumer, place, 0);
  // Five records and their marker, three that were aborted and theirs.
  member.await([&] { return member.ends[place] == 10; });
  CHECK(member.offsets() == range(0, 5));
  CHECK(member.consumer->watermarks(place, 10s).high == 10);

  assign(*member.consumer, place, 6);
  member.ends.clear();
  member.await([&] { return member.ends[place] == 10; });
  CHECK(member.records.size() == 5);
}

TEST_CASE("an open transaction is the end for its readers, until it is over") {
  const std::string topic = new_topic("open");
  publish(topic, 0, 0, 4);
  KafkaTransaction transaction;
  transaction.begin();
  transaction.produce(topic, 0, 2);
  publish(topic, 0, 4, 1);
  KafkaMember member(consumer_options());
  const Place place{topic, 0};
  CHECK(member.consumer->watermarks(place, 10s).high == 4);
  assign(*member.consumer, place, 0);
  member.await([&] { return member.ends[place] == 4; });
  CHECK(member.offsets() == range(0, 4));
  transaction.commit();
  member.await([&] { return member.ends[place] == 8; });
  CHECK(member.offsets() == range(0, 7));
}

TEST_CASE("an offset out of range is said once, the others go on, and assigning anew revives the place") {
  KafkaAdmin admin(bootstrap_servers());
  const std::string topic = new_topic("range", 3);
  for (std::int32_t partition = 0; partition < 3; ++partition) publish(topic, partition, 0, 100);
  admin.delete_records(topic, 0, 50);
  KafkaMember member(consumer_options());
  CHECK(member.consumer->watermarks({topic, 0}, 10s).low == 50);
  const std::array bad{Position{{topic, 0}, 10}, Position{{topic, 1}, 0}, Position{{topic, 2}, 5'000}};
  member.consumer->assign(bad);
  member.await([&] { return member.out_of_range.size() == 2 && member.ends.contains({topic, 1}); });
  CHECK(member.offsets(1) == range(0, 100));
  // tidy: waits for nothing, since a second event would be announced by nothing.
  member.step_for(1'500ms);
  REQUIRE(member.out_of_range.size() == 2);
  for (const consumer_event::OutOfRange& event : member.out_of_range) {
    CHECK(event.offset == (event.place.partition == 0 ? 10 : 5'000));
    CHECK_FALSE(event.reason.empty());
  }
  CHECK(member.offsets(0).empty());
  CHECK(member.offsets(2).empty());

  const std::array good{Position{{topic, 0}, 50}, Position{{topic, 1}, 100}, Position{{topic, 2}, 90}};
  member.consumer->assign(good);
  member.await([&] { return member.ends.contains({topic, 0}) && member.ends.contains({topic, 2}); });
  CHECK(member.offsets(0) == range(50, 100));
  CHECK(member.offsets(1) == range(0, 100));
  CHECK(member.offsets(2) == range(90, 100));
  CHECK(member.out_of_range.size() == 2);
}

TEST_CASE("the text of a committed offset travels exactly, and a person's reset has none") {
  const std::string topic = new_topic("text", 2);
  const auto options = consumer_options();
  const std::string text = "txbox1:01890d5e-7c41-7bb2-9d3e-2f5a6b7c8d9e:e7:c41";
  const std::array places{Place{topic, 0}, Place{topic, 1}};
  {
    KafkaMember member(options);
    CHECK(member.consumer->committed(places, 10s) ==
          std::vector<CommittedOffset>{{{topic, 0}, -1, ""}, {{topic, 1}, -1, ""}});
    member.consumer->subscribe({topic});
    member.await([&] { return member.assigned.size() == 2; });
    CHECK(member.consumer->commit_and_wait({{topic, 0}, 12, text}, 10s) == 0);
    CHECK(member.consumer->commit_and_wait({{topic, 1}, 3, text}, 10s) == 0);
    CHECK(member.consumer->commit_and_wait({{topic, 1}, 4, ""}, 10s) == 0);
    CHECK(member.consumer->commit_and_wait({{topic, 7}, 4, text}, 10s) != 0);
  }
  CHECK(Consumer(options).committed(places, 10s) ==
        std::vector<CommittedOffset>{{{topic, 0}, 12, text}, {{topic, 1}, 4, ""}});
}

TEST_CASE("a topic that is deleted while it is read is said, and the consumer still ends") {
  KafkaAdmin admin(bootstrap_servers());
  const std::string topic = new_topic("deleted");
  publish(topic, 0, 0, 50);
  std::chrono::steady_clock::time_point begin;
  {
    KafkaMember member(consumer_options({{"topic.metadata.refresh.interval.ms", "500"}}));
    member.consumer->subscribe({topic});
    member.await_records(50);
    admin.delete_topic(topic);
    member.await([&] { return !member.place_errors.empty(); });
    CHECK(member.place_errors.front().place.topic == topic);
    begin = std::chrono::steady_clock::now();
  }
  CHECK(std::chrono::steady_clock::now() - begin < 8s);
  CHECK_FALSE(admin.exists(topic));
}

TEST_CASE("a topic that does not exist is said, and is not made") {
  KafkaAdmin admin(bootstrap_servers());
  const std::string topic = unique_topic("missing");
  KafkaMember member(consumer_options());
  member.consumer->subscribe({topic});
  member.await([&] { return !member.place_errors.empty(); });
  CHECK(member.place_errors.front().place == Place{topic, -1});
  CHECK(member.place_errors.front().error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  CHECK_FALSE(admin.exists(topic));
}

TEST_CASE("a backlog flows without standstills through a small queue") {
  const std::string topic = new_topic("backlog", 4);
  constexpr std::size_t kRecords = 240'000;
  for (std::int32_t partition = 0; partition < 4; ++partition) publish(topic, partition, 0, kRecords / 4, 100);
  // Writing "5" makes VmHWM begin anew (proc_pid_clear_refs(5)).
  std::ofstream("/proc/self/clear_refs") << "5";
  const long before_mb = memory_mb("VmRSS");
  Consumer consumer(consumer_options());
  std::vector<Position> positions(4);
  for (std::int32_t partition = 0; Position & position : positions) {
    position = {.place = {topic, partition++}, .offset = 0};
  }
  consumer.assign(positions);
  std::size_t records = 0;
  int standstills = 0;
  while (records < kRecords && standstills < 10) {
    const std::optional<ConsumerEvent> event = consumer.poll(600ms);
    if (!event) {
      ++standstills;
    } else if (std::holds_alternative<consumer_event::Record>(*event)) {
      ++records;
    }
  }
  CHECK(records == kRecords);
  // librdkafka alone looks once a second, six times here; one may be the machine's own.
  CHECK(standstills <= 1);
  CHECK(memory_mb("VmHWM") - before_mb < 40);
}
