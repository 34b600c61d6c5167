#include "relay/config/duration.hpp"

#include <doctest/doctest.h>

namespace txbox::relay {

using namespace std::chrono_literals;

TEST_CASE("each unit is read as people write it") {
  CHECK(parse_duration("250ms") == 250ms);
  CHECK(parse_duration("30s") == 30s);
  CHECK(parse_duration("5m") == 5min);
  CHECK(parse_duration("2h") == 2h);
  CHECK(parse_duration("7d") == 7 * 24h);
  CHECK(parse_duration("0s") == 0s);
}

TEST_CASE("what is no duration is refused") {
  for (const char* text : {"", "5", "s", "-5s", "+5s", " 5s", "5 s", "5s ", "5S", "1.5h", "1h30m", "5w", "0x5s"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_duration(text));
  }
}

TEST_CASE("a duration that would overflow is refused") {
  CHECK(parse_duration("36525d"));
  CHECK_FALSE(parse_duration("36526d"));
  CHECK_FALSE(parse_duration("9223372036854775807d"));
  CHECK_FALSE(parse_duration("9223372036854775808ms"));
}

}  // namespace txbox::relay
