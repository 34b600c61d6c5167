#include "relay/config/truth.hpp"

#include <doctest/doctest.h>

using txbox::relay::parse_truth;

TEST_CASE("a truth is one of a few words, and nothing else is taken for one") {
  for (const char* text : {"true", "yes", "on", "1"}) CHECK(parse_truth(text) == true);
  for (const char* text : {"false", "no", "off", "0"}) CHECK(parse_truth(text) == false);
  for (const char* text : {"", "maybe", "TRUE", "2", "y"}) CHECK_FALSE(parse_truth(text).has_value());
}
