#include <sqlite3.h>

#include <csignal>
#include <filesystem>
#include <map>

#include <doctest/doctest.h>

#include "mock_kafka.hpp"
#include "relay_process.hpp"
#include "support/kafka_reader.hpp"

namespace txbox::test {

using namespace std::chrono_literals;

namespace {

constexpr int kMessageSizeTooLarge = 10;
constexpr int kKilled = 128 + SIGKILL;

std::vector<ReadRecord> records_of(const std::string& topic) {
  return KafkaReader(mock_kafka().bootstrap_servers()).read_all(topic);
}

/// Per key the first occurrences must be 0, 1, 2, ... up to rows - 1; repeats may follow an occurrence.
void check_first_occurrences(const std::vector<ReadRecord>& records, std::size_t keys, int rows) {
  std::map<std::string, int> next;
  for (const ReadRecord& record : records) {
    int& expected = next[std::string(record.key.view())];
    const int number = std::stoi(std::string(record.payload.view()));
    REQUIRE(number <= expected);
    if (number == expected) ++expected;
  }
  CHECK(next.size() == keys);
  for (const auto& [key, count] : next) CHECK(count == rows);
}

class BrokerDown {
 public:
  BrokerDown() { mock_kafka().set_broker_down(1, true); }
  ~BrokerDown() { mock_kafka().set_broker_down(1, false); }
  BrokerDown(const BrokerDown&) = delete;
  BrokerDown& operator=(const BrokerDown&) = delete;
};

/// Whether `status` has this within some seconds, while the relay runs.
bool status_comes_to_say(const Shop& shop, RelayProcess& process, const std::string& part) {
  for (int look = 0; look < 150; ++look) {
    if (relay(shop.folder, {"status", "--db", shop.path, "--json"}).output.find(part) != std::string::npos) return true;
    if (process.wait(100ms) != -1) return false;
  }
  return false;
}

}  // namespace

TEST_CASE("a row that Kafka refuses is parked with its reason, its key waits, and others flow") {
  Shop shop;
  const std::string topic = new_mock_topic();
  shop.add(topic, "poisoned", "refused");
  // Once in a batch of the main producer and once alone, which makes it the culprit.
  mock_kafka().fail_produce(kMessageSizeTooLarge, 2);
  const CommandResult first = shop.drain();
  CAPTURE(first.log);
  CHECK(first.code == 3);
  CHECK(shop.count_in_state("parked") == 1);
  CHECK(shop.app.text("SELECT last_error FROM outbox_status WHERE id = 1").value().starts_with("MSG_SIZE_TOO_LARGE"));
  CHECK(first.log.find("refused") == std::string::npos);
  CHECK(first.log.find("row 1 is parked and its key waits: MSG_SIZE_TOO_LARGE") != std::string::npos);

  shop.add(topic, "poisoned", "waits");
  shop.add(topic, "healthy", "flows");
  CHECK(shop.drain().code == 3);
  const std::vector<ReadRecord> records = records_of(topic);
  REQUIRE(records.size() == 1);
  CHECK(records[0].payload == Bytes("flows"));
  CHECK(shop.count_in_state("blocked") == 1);
}

TEST_CASE("of many rows that are parked at once the first is told, and the others are counted") {
  Shop shop;
  const std::string topic = new_mock_topic();
  // Malformed rows, which only a writer with its checks off can make, are refused without Kafka, each by itself.
  sqlite3_db_config(shop.app, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  shop.app.run("PRAGMA ignore_check_constraints=1");
  for (const char* key : {"a", "b", "c"}) {
    shop.app.run("INSERT INTO outbox(topic, key, payload, nonce) VALUES ('" + topic + "', '" + key +
                 "', 'secret', x'00')");
  }
  const CommandResult drain = shop.drain();
  CAPTURE(drain.log);
  CHECK(drain.code == 3);
  CHECK(drain.log.find("3 parked, 0 blocked") != std::string::npos);
  CHECK(drain.log.find("row 1 is parked and its key waits") != std::string::npos);
  CHECK(drain.log.find("row 2 is parked") == std::string::npos);
  CHECK(drain.log.find(" 2 more rows were parked") != std::string::npos);
  CHECK(drain.log.find("secret") == std::string::npos);
}

TEST_CASE("a relay killed at any step leaves nothing lost and no order broken") {
  for (const char* place : {"relay:after_barrier", "relay:after_produce", "relay:after_produce=3", "relay:after_report",
                            "relay:before_mark", "relay:after_mark"}) {
    CAPTURE(place);
    Shop shop;
    const std::string topic = new_mock_topic(2);
    shop.add_many(topic, 6'000, 20);
    CHECK(shop.drain({}, {std::string("TXBOX_FAILPOINT=") + place}).code == kKilled);
    CHECK(shop.drain().code == 0);
    CHECK(shop.count_in_state("sent") == 6'000);
    check_first_occurrences(records_of(topic), 20, 300);
  }
}

TEST_CASE("a broker that is away parks nothing and costs no attempt, and the backlog drains when it is back") {
  Shop shop;
  const std::string topic = new_mock_topic();
  shop.add_many(topic, 500, 5);
  {
    const BrokerDown down;
    const CommandResult result = relay(shop.folder, shop.run_arguments({"--drain", "--timeout", "1s"}));
    CHECK(result.code == 75);
    CHECK(shop.count_in_state("ready") == 500);
    CHECK(shop.app.number("SELECT count(*) FROM outbox_status WHERE attempts > 0") == 0);
  }
  const CommandResult drained = shop.drain();
  CHECK(drained.code == 0);
  CHECK(drained.log.find("info drained: 500 published") != std::string::npos);
  CHECK(shop.count_in_state("sent") == 500);
  check_first_occurrences(records_of(topic), 5, 100);
}

TEST_CASE("a Kafka that cannot be reached is said once, as a warning that it is tried again") {
  Shop shop;
  shop.add("orders", "a", "0");
  RelayProcess process(shop.folder, {"run", "--db", shop.path, "--brokers", "127.0.0.1:1"});
  const std::string words = "; tried again until it works";
  while (process.log().find(words) == std::string::npos) REQUIRE(process.wait(50ms) == -1);
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
  const std::string log = process.log();
  CHECK(log.find(words) == log.rfind(words));
  CHECK(log.find(" error ") == std::string::npos);
  CHECK(log.find("stopped: 0 published") != std::string::npos);
}

TEST_CASE("an outage in the middle is survived by the running relay") {
  Shop shop;
  const std::string topic = new_mock_topic();
  RelayProcess process(shop.folder, shop.run_arguments());
  shop.add_many(topic, 100, 5);
  REQUIRE(KafkaReader(mock_kafka().bootstrap_servers()).await(topic, 100).size() >= 100);
  CHECK(status_comes_to_say(shop, process, R"("broker_trouble":null)"));
  {
    const BrokerDown down;
    shop.add_many(topic, 100, 1);
    CHECK(status_comes_to_say(shop, process, R"("broker_trouble":"unreachable","broker_trouble_text":"Kafka cannot)"));
  }
  // A reader of its own: one that lived through the outage may not find the mock broker again for a long time.
  REQUIRE(KafkaReader(mock_kafka().bootstrap_servers()).await(topic, 200, 20s).size() >= 200);
  CHECK(status_comes_to_say(shop, process, R"("broker_trouble":null)"));
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
  CHECK(shop.count_in_state("sent") == 200);
}

TEST_CASE("a stop while the broker is away ends within its grace time and loses nothing") {
  Shop shop;
  const std::string topic = new_mock_topic();
  KafkaReader reader(mock_kafka().bootstrap_servers());
  RelayProcess process(shop.folder, shop.run_arguments());
  shop.add(topic, "a", "0");
  REQUIRE(reader.await(topic, 1).size() == 1);
  {
    const BrokerDown down;
    shop.app.run("INSERT INTO outbox(topic, key, payload) VALUES ('" + topic + "', 'a', '1')");
    process.signal(SIGTERM);
    const int code = process.wait(14s);
    CAPTURE(process.log());
    CHECK(code == 0);
  }
  CHECK(shop.drain().code == 0);
  check_first_occurrences(records_of(topic), 1, 2);
  CHECK(shop.count_in_state("sent") == 2);
}

TEST_CASE("a second signal ends the relay at once") {
  Shop shop;
  const std::string topic = new_mock_topic();
  KafkaReader reader(mock_kafka().bootstrap_servers());
  RelayProcess process(shop.folder, shop.run_arguments());
  shop.add(topic, "a", "0");
  REQUIRE(reader.await(topic, 1).size() == 1);
  const BrokerDown down;
  shop.add_many(topic, 1'000, 1);
  process.signal(SIGTERM);
  process.signal(SIGINT);
  CHECK(process.wait(3s) == 0);
}

TEST_CASE("a state directory that goes away is said, and the stop is a clean one all the same") {
  Shop shop;
  const std::string topic = new_mock_topic();
  RelayProcess process(shop.folder, shop.run_arguments());
  shop.add(topic, "a", "0");
  REQUIRE(KafkaReader(mock_kafka().bootstrap_servers()).await(topic, 1).size() == 1);
  std::filesystem::remove_all(shop.folder.file("state"));
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
  CHECK(process.log().find(".witness") != std::string::npos);
  CHECK(shop.count_in_state("sent") == 1);
}

TEST_CASE("a locked database delays the marks and not the publishing") {
  Shop shop;
  const std::string topic = new_mock_topic();
  KafkaReader reader(mock_kafka().bootstrap_servers());
  RelayProcess process(shop.folder, shop.run_arguments());
  shop.add_many(topic, 100, 5);
  REQUIRE(reader.await(topic, 100).size() >= 100);
  AppDatabase other(shop.path);
  other.run("PRAGMA busy_timeout=10000");  // The relay marks the first rows.
  shop.add_many(topic, 100, 5);
  other.run("BEGIN IMMEDIATE");
  REQUIRE(reader.await(topic, 200).size() >= 200);
  other.run("COMMIT");
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
  CHECK(shop.count_in_state("sent") == 200);
  CHECK(reader.read_all(topic).size() == 200);
}

}  // namespace txbox::test
