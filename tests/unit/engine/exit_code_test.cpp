#include "relay/engine/exit_code.hpp"

#include <doctest/doctest.h>

namespace txbox::relay {

TEST_CASE("the numbers that scripts test for are these") {
  const auto number = [](ErrorCode code) { return static_cast<int>(exit_code_for(code)); };
  CHECK(number(ErrorCode::failure) == 1);
  CHECK(number(ErrorCode::invalid_argument) == 2);
  CHECK(number(ErrorCode::moved) == 20);
  CHECK(number(ErrorCode::corrupt) == 21);
  CHECK(number(ErrorCode::restored) == 22);
  CHECK(number(ErrorCode::schema_newer) == 23);
  CHECK(number(ErrorCode::owned) == 24);
  CHECK(number(ErrorCode::busy) == 75);
  CHECK(number(ErrorCode::broker_unavailable) == 75);
  CHECK(number(ErrorCode::not_installed) == 78);
  CHECK(number(ErrorCode::schema_differs) == 78);
  CHECK(number(ErrorCode::not_wal) == 78);
  CHECK(number(ErrorCode::unsupported_file) == 78);
  CHECK(number(ErrorCode::foreign_store) == 78);
  CHECK(number(ErrorCode::offset_out_of_range) == 78);
  CHECK(number(ErrorCode::configuration) == 78);
}

}  // namespace txbox::relay
