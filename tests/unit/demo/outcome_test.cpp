#include "relay/demo/outcome.hpp"

#include <doctest/doctest.h>

#include <string>

#include <nlohmann/json.hpp>

#include "relay/demo/final_table.hpp"

using txbox::relay::demo::Outcome;
using txbox::relay::demo::to_json;

namespace {

/// Three orders, all well, two copies.
Outcome good_outcome() {
  Outcome outcome;
  outcome.topic.committed = 3;
  outcome.topic.published = 3;
  outcome.topic.records = 5;
  outcome.topic.duplicates = 2;
  outcome.receipts = 3;
  outcome.books.orders = 3;
  outcome.books.applied = 3;
  outcome.books.credits = 3;
  outcome.books.shop_cents = 1000;
  outcome.books.billing_cents = 1000;
  outcome.consumer.delivered = 5;
  return outcome;
}

}  // namespace

TEST_CASE("an outcome in which shop, topic and accounts agree holds, and has no fault to name") {
  const Outcome outcome = good_outcome();
  CHECK(outcome.holds());
  CHECK(outcome.faults().empty());
  CHECK(outcome.skipped() == 2);
}

TEST_CASE("each fault alone keeps an outcome from holding, and is named") {
  Outcome outcome = good_outcome();
  std::string words;
  SUBCASE("a receipt is missing") { outcome.receipts = 2, words = "receipt"; }
  SUBCASE("the table orders differs") { outcome.books.orders = 4, words = "table orders"; }
  SUBCASE("an event is lost") { outcome.topic.lost = 1, words = "1 committed order missing in Kafka"; }
  SUBCASE("an event is invented") { outcome.topic.invented = 1, words = "that nobody committed"; }
  SUBCASE("an event is altered") { outcome.topic.altered = 1, words = "other than committed"; }
  SUBCASE("an event is out of order") { outcome.topic.out_of_order = 2, words = "2 records out of order"; }
  SUBCASE("the relay failed by itself") { outcome.relay.failures = 1, words = "of the relay"; }
  SUBCASE("the billing failed by itself") { outcome.consumer.failures = 1, words = "of the billing"; }
  SUBCASE("the billing has not read to the end") { outcome.consumer.unread = 1, words = "never read"; }
  SUBCASE("an order was never applied") { outcome.books.never_applied = 1, words = "1 order never applied"; }
  SUBCASE("an order was applied twice") { outcome.books.applied_twice = 1, words = "applied once more"; }
  SUBCASE("a rolled back order was applied") { outcome.books.never_ordered = 1, words = "of no committed order"; }
  SUBCASE("an order was misbilled") { outcome.books.misbilled = 1, words = "another account or amount"; }
  SUBCASE("an account is off") { outcome.books.accounts_off = 1, words = "1 account wrong"; }
  SUBCASE("the sum is a cent short") { outcome.books.billing_cents = 999, words = "the accounts are 0.01 short"; }
  SUBCASE("the sum is too high") { outcome.books.billing_cents = 1250, words = "the accounts are 2.50 too high"; }
  CHECK_FALSE(outcome.holds());
  CHECK(outcome.faults().find(words) != std::string::npos);
  CHECK(nlohmann::json::parse(to_json(outcome)).at("holds") == false);
}

TEST_CASE("the JSON object keeps its numbers apart") {
  Outcome outcome = good_outcome();
  outcome.relay.kills = 6;
  outcome.consumer.kills = 2;
  outcome.seed = 7;
  const auto object = nlohmann::json::parse(to_json(outcome));
  CHECK(object.at("holds") == true);
  CHECK(object.at("committed") == 3);
  CHECK(object.at("duplicates") == 2);
  CHECK(object.at("delivered") == 5);
  CHECK(object.at("skipped") == 2);
  CHECK(object.at("kills") == 6);
  CHECK(object.at("consumer_kills") == 2);
  CHECK(object.at("seed") == 7);
}
