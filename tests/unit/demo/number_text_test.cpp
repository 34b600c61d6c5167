#include "relay/demo/number_text.hpp"

#include <doctest/doctest.h>

#include <chrono>

using txbox::relay::demo::counted;
using txbox::relay::demo::in_seconds;
using txbox::relay::demo::with_commas;

TEST_CASE("numbers are grouped by thousands") {
  CHECK(with_commas(0) == "0");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(1000) == "1,000");
  CHECK(with_commas(1234567) == "1,234,567");
  CHECK(with_commas(-1000) == "-1,000");
  CHECK(with_commas(-100) == "-100");
}

TEST_CASE("a time is written in seconds with two places") {
  CHECK(in_seconds(std::chrono::milliseconds(0)) == "0.00 s");
  CHECK(in_seconds(std::chrono::milliseconds(1059)) == "1.05 s");
  CHECK(in_seconds(std::chrono::milliseconds(15000)) == "15.00 s");
}

TEST_CASE("one thing is counted in the singular") {
  CHECK(counted(1, "time") == "1 time");
  CHECK(counted(2, "copy", "copies") == "2 copies");
  CHECK(counted(0, "time") == "0 times");
  CHECK(counted(1500, "order") == "1,500 orders");
}
