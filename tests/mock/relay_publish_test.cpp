#include <algorithm>
#include <csignal>
#include <map>

#include <doctest/doctest.h>

#include "mock_kafka.hpp"
#include "relay_process.hpp"
#include "support/kafka_reader.hpp"

namespace txbox::test {

using namespace std::chrono_literals;

namespace {

std::vector<ReadRecord> records_of(const std::string& topic) {
  return KafkaReader(mock_kafka().bootstrap_servers()).read_all(topic);
}

std::vector<ReadRecord> await_records(const std::string& topic, std::size_t count) {
  auto records = KafkaReader(mock_kafka().bootstrap_servers()).await(topic, count);
  REQUIRE(records.size() >= count);
  return records;
}

}  // namespace

TEST_CASE("what plain SQL committed arrives byte for byte, null and empty kept apart") {
  Shop shop;
  const std::string topic = new_mock_topic();
  shop.app.run("INSERT INTO outbox(topic, key, payload, headers) VALUES ('" + topic +
               "', x'00ff41', x'000180ff', '[[\"a\",\"1\"],[\"a\",null],[\"b\",{\"base64\":\"AAE=\"}]]')");
  shop.app.run("INSERT INTO outbox(topic, key, payload) VALUES ('" + topic + "', '', '')");
  shop.app.run("INSERT INTO outbox(topic, event_id) VALUES ('" + topic + "', 'tombstone-1')");
  CHECK(shop.drain().code == 0);

  const std::vector<ReadRecord> records = records_of(topic);
  REQUIRE(records.size() == 3);
  CHECK(records[0].key == Bytes(std::string_view("\x00\xff\x41", 3)));
  CHECK(records[0].payload == Bytes(std::string_view("\x00\x01\x80\xff", 4)));
  const std::string first_id = shop.app.text("SELECT event_id FROM outbox_status WHERE id = 1").value();
  const std::string created = shop.app.text("SELECT created_at FROM outbox WHERE id = 1").value();
  CHECK(records[0].headers == Headers{{"a", "1"},
                                      {"a", nullptr},
                                      {"b", std::string_view("\0\1", 2)},
                                      {"id", std::string_view(first_id)},
                                      {"txbox-created-at", std::string_view(created)}});
  CHECK(records[1].key == Bytes(""));
  CHECK(records[1].payload == Bytes(""));
  CHECK(records[2].key.is_null());
  CHECK(records[2].payload.is_null());
  CHECK(records[2].headers.last("id")->value == Bytes("tombstone-1"));
  CHECK(shop.count_in_state("sent") == 3);
  CHECK(shop.app.number("SELECT count(*) FROM outbox_status WHERE partition = 0 AND offset = id - 1") == 3);
}

TEST_CASE("rows of a key arrive in commit order in one partition, and a second run sends nothing again") {
  Shop shop;
  const std::string topic = new_mock_topic(3);
  shop.add_many(topic, 3'000, 50);
  CHECK(shop.drain().code == 0);
  CHECK(shop.drain().code == 0);
  const std::vector<ReadRecord> records = records_of(topic);
  REQUIRE(records.size() == 3'000);
  std::map<std::string, std::pair<std::int32_t, int>> newest;
  for (const ReadRecord& record : records) {
    const auto [entry, fresh] = newest.try_emplace(std::string(record.key.view()), record.partition, -1);
    CHECK(entry->second.first == record.partition);
    const int number = std::stoi(std::string(record.payload.view()));
    REQUIRE(number == entry->second.second + 1);
    entry->second.second = number;
  }
  CHECK(newest.size() == 50);
}

TEST_CASE("a row that was rolled back is never published") {
  Shop shop;
  const std::string topic = new_mock_topic();
  shop.app.run("BEGIN IMMEDIATE");
  shop.add(topic, "a", "rolled back");
  shop.app.run("ROLLBACK");
  shop.add(topic, "a", "committed");
  CHECK(shop.drain().code == 0);
  const std::vector<ReadRecord> records = records_of(topic);
  REQUIRE(records.size() == 1);
  CHECK(records[0].payload == Bytes("committed"));
}

TEST_CASE("a commit wakes an idle relay at once, not at its next timer") {
  Shop shop;
  const std::string topic = new_mock_topic();
  RelayProcess process(shop.folder, shop.run_arguments());
  shop.add(topic, "a", "first");
  await_records(topic, 1);
  std::vector<std::int64_t> latencies_ms;
  for (std::size_t count = 2; count <= 8; ++count) {
    shop.add(topic, "a", "next");
    const ReadRecord newest = await_records(topic, count).back();
    latencies_ms.push_back(newest.timestamp_ms -
                           std::stoll(std::string(newest.headers.last("txbox-created-at")->value.view())));
  }
  std::sort(latencies_ms.begin(), latencies_ms.end());
  // The floor timer alone would make it half a second.
  CHECK(latencies_ms[latencies_ms.size() / 2] < 200);
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
  CHECK(shop.count_in_state("sent") == 8);
}

TEST_CASE("a row is not published before it is due, and a drain does not wait for it") {
  Shop shop;
  const std::string topic = new_mock_topic();
  shop.app.run("INSERT INTO outbox(topic, key, payload, deliver_at) VALUES ('" + topic +
               "', 'a', 'later', "
               "(unixepoch() + 3600) * 1000)");
  shop.app.run("INSERT INTO outbox(topic, key, payload, deliver_at) VALUES ('" + topic +
               "', 'a', 'due', 1700000000000)");
  shop.add(topic, "a", "now");
  CHECK(shop.drain().code == 0);
  CHECK(records_of(topic).size() == 2);
  CHECK(shop.count_in_state("scheduled") == 1);
  CHECK(shop.count_in_state("sent") == 2);
}

TEST_CASE("several files go through one relay, each with its own receipts") {
  Shop first;
  Shop second;
  const std::string topic = new_mock_topic();
  first.add_many(topic, 300, 3);
  second.add_many(topic, 200, 3);
  CHECK(first.drain({"--db", second.path}).code == 0);
  CHECK(records_of(topic).size() == 500);
  CHECK(first.count_in_state("sent") == 300);
  CHECK(second.count_in_state("sent") == 200);
}

TEST_CASE("flags may come from the environment, and the event id under another header") {
  Shop shop;
  const std::string topic = new_mock_topic();
  shop.add(topic, "a", "1");
  const CommandResult result =
      relay(shop.folder, {"run", "--drain"},
            {"OUTBOX_RELAY_DB=" + shop.path, "OUTBOX_RELAY_BROKERS=" + mock_kafka().bootstrap_servers(),
             "OUTBOX_RELAY_ID_HEADER=event-id", "OUTBOX_RELAY_LOG_FORMAT=json"});
  CHECK(result.code == 0);
  CHECK(result.log.starts_with("{\"time\":"));
  const std::vector<ReadRecord> records = records_of(topic);
  REQUIRE(records.size() == 1);
  CHECK(records[0].headers.last("event-id") != nullptr);
  CHECK(records[0].headers.last("id") == nullptr);
}

}  // namespace txbox::test
