#include "relay/config/size.hpp"

#include <doctest/doctest.h>

using txbox::relay::parse_size;

TEST_CASE("a size is a whole number and a unit") {
  CHECK(parse_size("0B") == 0);
  CHECK(parse_size("512B") == 512);
  CHECK(parse_size("64KiB") == 65'536);
  CHECK(parse_size("16MiB") == 16'777'216);
  CHECK(parse_size("1GiB") == 1'073'741'824);
  CHECK(parse_size("64kB") == 64'000);
  CHECK(parse_size("16MB") == 16'000'000);
  CHECK(parse_size("2GB") == 2'000'000'000);
}

TEST_CASE("what is no size is none") {
  for (const char* text : {"", "5", "MiB", "-1B", "1.5MiB", "5 MiB", "5mb", "5M", "99999999999999999999B", "1048577GiB",
                           "9223372036854775807GiB"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_size(text).has_value());
  }
}
