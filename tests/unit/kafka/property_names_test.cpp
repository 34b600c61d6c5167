#include "property_names.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

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
