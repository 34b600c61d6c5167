#include <txbox/base/error.hpp>

#include <set>
#include <string>

#include <doctest/doctest.h>

using txbox::Error;
using txbox::ErrorCode;
using txbox::next_step;
using txbox::NextStep;
using txbox::to_string;

TEST_CASE("every code has a name of its own") {
  std::set<std::string> names;
  const int last = static_cast<int>(ErrorCode::offset_out_of_range);
  for (int code = 0; code <= last; ++code) names.emplace(to_string(static_cast<ErrorCode>(code)));
  CHECK(names.size() == static_cast<std::size_t>(last) + 1);
  CHECK(to_string(ErrorCode::foreign_store) == "foreign_store");
  CHECK(to_string(ErrorCode::offset_out_of_range) == "offset_out_of_range");
}

TEST_CASE("a code tells the caller's next move") {
  CHECK(next_step(ErrorCode::busy) == NextStep::retry_call);
  CHECK(next_step(ErrorCode::stale_snapshot) == NextStep::retry_transaction);
  CHECK(next_step(ErrorCode::foreign_store) == NextStep::fix_first);
  CHECK(next_step(ErrorCode::offset_out_of_range) == NextStep::fix_first);
  CHECK(next_step(ErrorCode::corrupt) == NextStep::give_up);
  CHECK(Error(ErrorCode::configuration, "no group").next_step() == NextStep::fix_first);
}
