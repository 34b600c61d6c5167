#include "relay/config/topic_shape.hpp"

#include <doctest/doctest.h>

using txbox::relay::parse_topic_shape;

TEST_CASE("the shape of a topic is its partitions, and its replicas where they are named") {
  REQUIRE(parse_topic_shape("6"));
  CHECK(parse_topic_shape("6")->partitions == 6);
  CHECK(parse_topic_shape("6")->replicas == -1);
  REQUIRE(parse_topic_shape("12:3"));
  CHECK(parse_topic_shape("12:3")->partitions == 12);
  CHECK(parse_topic_shape("12:3")->replicas == 3);
}

TEST_CASE("what is no shape of a topic is none") {
  for (const char* text : {"", "0", "-1", "6:", ":3", "6:0", "6:-1", "6:3:1", " 6", "6 ", "six", "10001", "6:101"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_topic_shape(text).has_value());
  }
}
