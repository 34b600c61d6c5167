#include "relay/demo/narrator.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using txbox::relay::demo::Outcome;
using txbox::relay::demo::with_commas;

TEST_CASE("numbers are grouped by thousands") {
  CHECK(with_commas(0) == "0");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(1000) == "1,000");
  CHECK(with_commas(1234567) == "1,234,567");
  CHECK(with_commas(-1000) == "-1,000");
  CHECK(with_commas(-100) == "-100");
}

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
