#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <txbox/kafka/settings.hpp>

TEST_CASE("properties without a default, aliases and topic properties are among the known names") {
  const std::vector<std::string> names = txbox::kafka::property_names();
  const auto knows = [&names](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const char* name : {"bootstrap.servers", "metadata.broker.list", "sasl.password", "linger.ms", "acks",
                           "request.required.acks", "message.timeout.ms", "delivery.timeout.ms", "partitioner"}) {
    CAPTURE(name);
    CHECK(knows(name));
  }
  CHECK_FALSE(knows("Property"));
  CHECK_FALSE(knows(""));
}

TEST_CASE("an alias has the name behind it, and every other property its own") {
  CHECK(txbox::kafka::first_name("acks") == "request.required.acks");
  CHECK(txbox::kafka::first_name("linger.ms") == "queue.buffering.max.ms");
  CHECK(txbox::kafka::first_name("bootstrap.servers") == "metadata.broker.list");
  CHECK(txbox::kafka::first_name("metadata.broker.list") == "metadata.broker.list");
  CHECK(txbox::kafka::first_name("no.such.property") == "no.such.property");
}
