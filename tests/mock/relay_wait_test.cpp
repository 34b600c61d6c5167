#include <csignal>

#include <doctest/doctest.h>

#include "mock_kafka.hpp"
#include "relay_process.hpp"
#include "support/kafka_reader.hpp"

namespace txbox::test {

using namespace std::chrono_literals;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A relay that is at work on the shop's file.
struct OtherRelay {
  explicit OtherRelay(Shop& shop) : process(shop.folder, shop.run_arguments()) {
    const std::string topic = new_mock_topic();
    shop.add(topic, "a", "0");
    REQUIRE(KafkaReader(mock_kafka().bootstrap_servers()).await(topic, 1).size() == 1);
  }
  RelayProcess process;
};

/// The application's own transaction, in which it stays for long.
struct LongTransaction {
  explicit LongTransaction(Shop& of) : shop(of) { shop.app.run("BEGIN IMMEDIATE"); }
  void commit() { shop.app.run("COMMIT"); }
  Shop& shop;
};

}  // namespace

TEST_CASE("a drain that stands by for another relay ends with its time") {
  Shop shop;
  const OtherRelay other(shop);
  RelayProcess drain(shop.folder, shop.run_arguments({"--standby", "--drain", "--timeout", "300ms"}));
  CHECK(drain.wait(10s) == 75);
  CHECK(contains(drain.log(), "another relay still holds the file"));
}

TEST_CASE("a drain that is stopped while it stands by has not drained") {
  Shop shop;
  const OtherRelay other(shop);
  RelayProcess drain(shop.folder, shop.run_arguments({"--standby", "--drain"}));
  CHECK(drain.wait(300ms) == -1);
  drain.signal(SIGTERM);
  CHECK(drain.wait(5s) == 75);
}

TEST_CASE("a relay whose first start meets a long transaction waits for its end, and says so once") {
  Shop shop;
  const std::string topic = new_mock_topic();
  LongTransaction application(shop);
  shop.add(topic, "a", "0");
  RelayProcess service(shop.folder, shop.run_arguments());
  CHECK(service.wait(2500ms) == -1);
  application.commit();
  CHECK(KafkaReader(mock_kafka().bootstrap_servers()).await(topic, 1).size() == 1);
  service.signal(SIGTERM);
  CHECK(service.wait() == 0);
  const std::string log = service.log();
  const std::string line = "another program keeps the database locked";
  CHECK(contains(log, line));
  CHECK(log.find(line) == log.rfind(line));
}

TEST_CASE("a relay that waits for a long transaction hears of a stop, and a drain ends with its time") {
  Shop shop;
  const LongTransaction application(shop);
  RelayProcess drain(shop.folder, shop.run_arguments({"--drain", "--timeout", "500ms"}));
  CHECK(drain.wait(10s) == 75);
  // One after the other: whichever of two held the relay's lock first, the other would end because of it.
  RelayProcess other(shop.folder, shop.run_arguments({"--standby"}));
  CHECK(other.wait(1500ms) == -1);
  other.signal(SIGTERM);
  CHECK(other.wait(5s) == 0);
}

TEST_CASE("a drain that a signal ends before its end says that it did not drain") {
  Shop shop;
  shop.add("unreachable", "a", "0");
  RelayProcess drain(shop.folder, {"run", "--db", shop.path, "--brokers", "127.0.0.1:1", "--drain"});
  CHECK(drain.wait(500ms) == -1);
  drain.signal(SIGTERM);
  CHECK(drain.wait() == 75);
  CHECK(contains(drain.log(), "stopped before the drain was at its end"));
  CHECK(shop.count_in_state("ready") == 1);
}

}  // namespace txbox::test
