// A broker whose answers come late, and a client's queue that a person made small: nothing is lost, parked or blamed.

#include <csignal>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "mock_kafka.hpp"
#include "relay_process.hpp"
#include "support/kafka_reader.hpp"

namespace txbox::test {

using namespace std::chrono_literals;

namespace {

std::string text_of(const Bytes& bytes) { return std::string(bytes.view()); }

std::string name_of(const ReadRecord& record) { return text_of(record.key) + "/" + text_of(record.payload); }

void stop(RelayProcess& process) {
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
}

/// Until `count` rows have their receipts, as long as the relay lives.
void await_sent(Shop& shop, RelayProcess& process, std::int64_t count) {
  const auto end = std::chrono::steady_clock::now() + 40s;
  while (shop.count_in_state("sent") < count) {
    REQUIRE(process.wait(50ms) == -1);
    REQUIRE(std::chrono::steady_clock::now() < end);
  }
}

}  // namespace

TEST_CASE("an answer that comes too late costs no attempt and accuses no row, and each copy has the same event id") {
  Shop shop;
  const std::string topic = new_mock_topic();
  KafkaReader reader(mock_kafka().bootstrap_servers());
  RelayProcess process(shop.folder, shop.run_arguments({"-X", "socket.timeout.ms=500"}));
  shop.add(topic, "warm", "0");
  REQUIRE(reader.await(topic, 1).size() == 1);
  // More than the connections that would make a row a suspect, if the broker had closed them.
  mock_kafka().delay_produce(1, 10'000, 5);
  shop.add_many(topic, 10, 5);
  await_sent(shop, process, 11);
  stop(process);
  CAPTURE(process.log());
  CHECK(process.log().find("closes the connection") == std::string::npos);
  CHECK(shop.app.number("SELECT count(*) FROM outbox_status WHERE attempts > 0 OR last_error IS NOT NULL") == 0);

  const std::vector<ReadRecord> records = reader.read_all(topic);
  CHECK(records.size() > 11);  // Each late answer was one to rows that are in the log.
  std::map<std::string, std::set<std::string>> ids;
  for (const ReadRecord& record : records) ids[name_of(record)].insert(text_of(record.headers.last("id")->value));
  CHECK(ids.size() == 11);
  for (const auto& [name, found] : ids) {
    CAPTURE(name);
    CHECK(found.size() == 1);
  }
}

TEST_CASE("a queue that is set smaller than the window is no reason to fail, and no row goes out twice") {
  for (const char* property : {"queue.buffering.max.messages=100", "queue.buffering.max.kbytes=1"}) {
    CAPTURE(property);
    Shop shop;
    const std::string topic = new_mock_topic();
    shop.add_many(topic, 3'000, 5);
    const CommandResult result = shop.drain({"-X", property});
    CAPTURE(result.log);
    CHECK(result.code == 0);
    CHECK(KafkaReader(mock_kafka().bootstrap_servers()).read_all(topic).size() == 3'000);
  }
}

}  // namespace txbox::test
