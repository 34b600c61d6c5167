#include "relay/demo/narrator.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using txbox::relay::demo::Outcome;

TEST_CASE("an outcome holds only when topic, receipts and business table agree and the relay never failed") {
  Outcome outcome;
  outcome.balance.committed = 3;
  outcome.balance.published = 3;
  outcome.receipts = 3;
  outcome.orders_in_file = 3;
  CHECK(outcome.holds());
  SUBCASE("a receipt is missing") { outcome.receipts = 2; }
  SUBCASE("the table orders differs") { outcome.orders_in_file = 4; }
  SUBCASE("an order is lost") { outcome.balance.lost = 1; }
  SUBCASE("the relay failed by itself") { outcome.relay_failures = 1; }
  CHECK_FALSE(outcome.holds());
}
