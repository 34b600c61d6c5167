#include "nearest_name.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using txbox::kafka::nearest_name;

TEST_CASE("the nearest name is the one with the fewest letters to change") {
  const std::vector<std::string> names{"acks", "linger.ms", "batch.size", "compression.type", "compression.codec"};
  CHECK(nearest_name("linger", names) == "linger.ms");
  CHECK(nearest_name("ack", names) == "acks");
  CHECK(nearest_name("linger_ms", names) == "linger.ms");
  CHECK(nearest_name("batchsize", names) == "batch.size");
  CHECK(nearest_name("compresion.type", names) == "compression.type");
  CHECK(nearest_name("acks", names) == "acks");
}

TEST_CASE("a name that resembles none of them has no nearest one") {
  CHECK(nearest_name("colour", {"acks", "linger.ms"}).empty());
  CHECK(nearest_name("", {"acks"}).empty());
  CHECK(nearest_name("acks", {}).empty());
}
