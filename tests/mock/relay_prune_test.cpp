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

CommandResult prune(const Shop& shop, std::vector<std::string> more) {
  more.insert(more.begin(), {"prune", "--db", shop.path, "--older-than"});
  return relay(shop.folder, more);
}

std::int64_t rows(Shop& shop) { return shop.app.number("SELECT count(*) FROM outbox"); }

/// As if everything had been written, and sent, an hour ago.
void an_hour_passes(Shop& shop) { shop.app.run("UPDATE outbox_sent SET sent_at = sent_at - 3600000"); }

bool comes_true(const std::function<bool()>& condition) {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + 40s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);  // tidy: waits for another process that sends no signal
  }
  return true;
}

std::string event_of_key(Shop& shop, const std::string& key) {
  return shop.app.text("SELECT event_id FROM outbox_status WHERE key = '" + key + "'").value();
}

}  // namespace

TEST_CASE("prune deletes what was sent long ago and nothing else") {
  Shop shop;
  const std::string topic = new_mock_topic();
  shop.add_many(topic, 1'200, 5);
  shop.add(topic, "held", "parked");
  const std::string held = shop.app.text("SELECT event_id FROM outbox_status WHERE key = 'held'").value();
  REQUIRE(relay(shop.folder, {"park", "--db", shop.path, held}).code == 0);
  shop.add(topic, "k", "newest");
  REQUIRE(shop.drain().code == 3);
  const CommandResult young = prune(shop, {"5m"});
  CHECK(young.code == 0);
  CHECK(young.output == shop.path + ": 0 rows deleted\n");
  an_hour_passes(shop);
  const CommandResult old = prune(shop, {"5m", "--json", "--reason", "disk"});
  CHECK(old.code == 0);
  CHECK(old.output == "{\"deleted\":1200}\n");
  CHECK(old.log.empty());
  CHECK(rows(shop) == 2);
  CHECK(shop.count_in_state("parked") == 1);
  CHECK(shop.app.text("SELECT group_concat(detail) FROM txbox_audit WHERE action = 'prune'") ==
        "1200 rows older than 5m; disk");
  // Skipped, it may go once it is old enough.
  REQUIRE(relay(shop.folder, {"skip", "--db", shop.path, held}).code == 0);
  CHECK(prune(shop, {"1h"}).output == shop.path + ": 0 rows deleted\n");
  CHECK(prune(shop, {"0s"}).output == shop.path + ": 1 row deleted\n");
  CHECK(rows(shop) == 1);
}

TEST_CASE("a running relay goes on while its sent rows are pruned") {
  Shop shop;
  const std::string topic = new_mock_topic();
  KafkaReader reader(mock_kafka().bootstrap_servers());
  shop.add_many(topic, 3'000, 5);
  REQUIRE(shop.drain().code == 0);
  an_hour_passes(shop);
  RelayProcess process(shop.folder, shop.run_arguments());
  shop.add_many(topic, 500, 5);
  CHECK(prune(shop, {"5m"}).code == 0);
  shop.add_many(topic, 500, 5);
  CHECK(reader.await(topic, 4'000).size() == 4'000);
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
  CHECK(rows(shop) == 1'000);
  CHECK(shop.count_in_state("sent") == 1'000);
}

TEST_CASE("a running relay deletes by itself what was sent long ago, and nothing that is not sent") {
  Shop shop;
  const std::string topic = new_mock_topic();
  shop.add(topic, "parked", "p");
  shop.add(topic, "skipped", "p");
  shop.add(topic, "young", "p");
  shop.app.run("INSERT INTO outbox(topic, key, deliver_at) VALUES ('" + topic + "', 'later', 4000000000000)");
  shop.add_many(topic, 2'000, 5);
  for (const std::string word : {"park", "skip"}) {
    const std::string event = event_of_key(shop, word == "park" ? "parked" : "skipped");
    REQUIRE(relay(shop.folder, {word, "--db", shop.path, event, "--yes"}).code == 0);
  }
  REQUIRE(shop.drain({"--keep-sent", "forever"}).code == 3);
  an_hour_passes(shop);
  shop.app.run(
      "UPDATE outbox_sent SET sent_at = sent_at + 3600000 WHERE id = (SELECT id FROM outbox WHERE key = 'young')");
  RelayProcess process(shop.folder, shop.run_arguments({"--keep-sent", "5m"}));
  CHECK(comes_true([&] { return rows(shop) == 5; }));
  CHECK(shop.count_in_state("parked") == 1);
  CHECK(shop.count_in_state("skipped") == 1);
  CHECK(shop.count_in_state("scheduled") == 1);
  // The young one and the newest.
  CHECK(shop.count_in_state("sent") == 2);
  REQUIRE(relay(shop.folder, {"retry", "--db", shop.path, event_of_key(shop, "parked"), "--yes"}).code == 0);
  CHECK(comes_true([&] { return shop.count_in_state("sent") == 3; }));
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
  CHECK(rows(shop) == 5);
}

TEST_CASE("how long rows are kept changes at a reload, and skipped ones have a limit of their own") {
  Shop shop;
  const std::string topic = new_mock_topic();
  shop.add(topic, "skipped", "p");
  REQUIRE(relay(shop.folder, {"skip", "--db", shop.path, event_of_key(shop, "skipped"), "--yes"}).code == 0);
  shop.add_many(topic, 300, 5);
  const std::string file = shop.folder.file("relay.toml");
  const auto keep = [&](const std::string& text) { std::ofstream(file) << "[relay]\n" << text << '\n'; };
  keep("keep_sent = \"forever\"");
  RelayProcess process(shop.folder, shop.run_arguments({"--config", file}));
  REQUIRE(comes_true([&] { return shop.count_in_state("sent") == 300; }));
  keep("keep_sent = \"0s\"");
  process.signal(SIGHUP);
  CHECK(comes_true([&] { return rows(shop) == 2; }));
  CHECK(shop.count_in_state("skipped") == 1);
  keep("keep_sent = \"0s\"\nkeep_skipped = \"0s\"");
  process.signal(SIGHUP);
  CHECK(comes_true([&] { return rows(shop) == 1; }));
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
}

TEST_CASE("prune of a locked file is tried later, and a wrong age is a matter of usage") {
  Shop shop;
  CHECK(prune(shop, {"7"}).code == 2);
  CHECK(prune(shop, {"a week"}).code == 2);
  CHECK(relay(shop.folder, {"prune", "--db", shop.path}).code == 2);
  CHECK(relay(shop.folder, {"prune", "--db", shop.folder.file("none.db"), "--older-than", "7d"}).code == 20);
  shop.add_many(new_mock_topic(), 2, 1);
  REQUIRE(shop.drain().code == 0);
  an_hour_passes(shop);
  shop.app.run("BEGIN IMMEDIATE");
  CHECK(prune(shop, {"5m"}).code == 75);
  CHECK(prune(shop, {"7d"}).code == 0);
}

}  // namespace txbox::test
