#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include <doctest/doctest.h>

#include "mock_kafka.hpp"
#include "relay_process.hpp"
#include "support/kafka_reader.hpp"

namespace txbox::test {

namespace {

using namespace std::chrono_literals;

constexpr int kMessageSizeTooLarge = 10;

bool comes_true(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + 40s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);  // tidy: waits for another process that sends no signal
  }
  return true;
}

/// The shop's relay with a configuration file.
struct ConfiguredShop : Shop {
  void configure(const std::string& more) const {
    std::ofstream(folder.file("relay.toml"))
        << "db = \"" << path << "\"\n[kafka]\nbootstrap.servers = \"" << mock_kafka().bootstrap_servers() << "\"\n"
        << more;
  }
  [[nodiscard]] std::vector<std::string> arguments() const { return {"run", "--config", folder.file("relay.toml")}; }

  /// Adds a row that Kafka refuses, in a batch of the main producer and alone, and waits until it is parked.
  void add_refused(const std::string& topic, const std::string& key, int parked) {
    mock_kafka().fail_produce(kMessageSizeTooLarge, 2);
    add(topic, key, "refused");
    REQUIRE(comes_true([&] { return count_in_state("parked") == parked; }));
  }
};

}  // namespace

TEST_CASE("a reload decides what becomes of keys whose rows are refused from then on") {
  const std::string topic = new_mock_topic();
  ConfiguredShop shop;
  shop.configure("[relay]\non_refusal = \"block\"\n");
  RelayProcess process(shop.folder, shop.arguments());
  KafkaReader reader(mock_kafka().bootstrap_servers());
  shop.add_refused(topic, "before", 1);
  shop.configure("[relay]\non_refusal = \"skip\"\n");
  process.signal(SIGHUP);
  REQUIRE(comes_true([&] { return process.log().find("reloaded") != std::string::npos; }));
  shop.add_refused(topic, "after", 2);
  shop.add(topic, "before", "blocked");
  shop.add(topic, "after", "goes on");
  const std::vector<ReadRecord> records = reader.await(topic, 1);
  REQUIRE(records.size() == 1);
  CHECK(std::string(records[0].payload.view()) == "goes on");
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
  CHECK(shop.count_in_state("blocked") == 1);
}

TEST_CASE("new properties are taken into use between two rows, and neither is lost nor repeated") {
  const std::string topic = new_mock_topic();
  ConfiguredShop shop;
  shop.configure("");
  RelayProcess process(shop.folder, shop.arguments());
  KafkaReader reader(mock_kafka().bootstrap_servers());
  REQUIRE(comes_true([&] { return process.log().find("outbox-relay ") != std::string::npos; }));
  const auto reloads = [&] {
    std::size_t count = 0;
    const std::string log = process.log();
    for (std::size_t at = log.find("reloaded: new"); at != std::string::npos; at = log.find("reloaded: new", at + 1))
      ++count;
    return count;
  };
  for (std::size_t round = 1; round <= 5; ++round) {
    shop.add_many(topic, 100, 7);
    shop.configure("linger.ms = " + std::to_string(round) + "\n");
    process.signal(SIGHUP);
    REQUIRE(comes_true([&] { return reloads() == round; }));
  }
  REQUIRE(comes_true([&] { return shop.count_in_state("sent") == 500; }));
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
  CHECK(reader.read_all(topic).size() == 500);
}

}  // namespace txbox::test
