#include <csignal>

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

TEST_CASE("prune of a locked file is tried later, and a wrong age is a matter of usage") {
  Shop shop;
  CHECK(prune(shop, {"7"}).code == 2);
  CHECK(prune(shop, {"a week"}).code == 2);
  CHECK(relay(shop.folder, {"prune", "--db", shop.path}).code == 2);
  CHECK(relay(shop.folder, {"prune", "--db", shop.folder.file("none.db"), "--older-than", "7d"}).code == 20);
  shop.app.run("BEGIN IMMEDIATE");
  CHECK(prune(shop, {"7d"}).code == 75);
}

}  // namespace txbox::test
