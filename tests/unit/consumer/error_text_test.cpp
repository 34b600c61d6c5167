#include "libinbox/src/consumer/error_text.hpp"

#include <exception>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include <txbox/base/utf8.hpp>

using txbox::inbox::consumer::kLongestReason;
using txbox::inbox::consumer::reason_of;
using txbox::inbox::consumer::tidy_reason;

TEST_CASE("what a handler threw is told in its own words") {
  CHECK(reason_of(std::make_exception_ptr(std::runtime_error("no such account"))) == "no such account");
  CHECK(reason_of(std::make_exception_ptr(std::runtime_error(""))) == "the handler failed without a reason");
  CHECK(reason_of(std::make_exception_ptr(42)) == "the handler threw something that is no std::exception");
}

TEST_CASE("a reason is one line of text") {
  CHECK(tidy_reason("a\r\nb\tc\x7f") == "a  b c ");
  CHECK(tidy_reason(std::string("a\0b", 3)) == "a b");
  CHECK(tidy_reason("bad \xff byte, cut \xc3") == "bad \xEF\xBF\xBD byte, cut \xEF\xBF\xBD");
  CHECK(tidy_reason("grün") == "grün");
}

TEST_CASE("a reason that quotes a whole payload is cut between characters") {
  const std::string fits(kLongestReason, 'x');
  CHECK(tidy_reason(fits) == fits);
  const std::string cut = tidy_reason(fits + "y");
  CHECK(cut.size() == kLongestReason);
  CHECK(cut.ends_with("x..."));
  std::string umlauts = "x";
  for (int i = 0; i < 1000; ++i) umlauts += "ü";
  const std::string tidy = tidy_reason(umlauts);
  CHECK(tidy.size() <= kLongestReason);
  CHECK(txbox::base::is_utf8(tidy));
}
