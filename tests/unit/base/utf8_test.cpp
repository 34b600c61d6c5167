#include <txbox/base/utf8.hpp>

#include <string>

#include <doctest/doctest.h>

using txbox::base::is_utf8;

namespace {
/// Long ASCII around it, so that the check by whole words is passed through at every offset.
void check_all_offsets(std::string_view bytes, bool expected) {
  for (std::size_t before = 0; before < 17; ++before) {
    for (const std::size_t after : {0, 1, 16}) {
      CHECK(is_utf8(std::string(before, 'a') + std::string(bytes) + std::string(after, 'z')) == expected);
    }
  }
}
}  // namespace

TEST_CASE("well-formed sequences of every length are UTF-8") {
  check_all_offsets("", true);
  check_all_offsets("\x7f", true);
  check_all_offsets("\xc2\x80", true);
  check_all_offsets("\xe0\xa0\x80", true);
  check_all_offsets("\xed\x9f\xbf", true);
  check_all_offsets("\xef\xbf\xbf", true);
  check_all_offsets("\xf0\x90\x80\x80", true);
  check_all_offsets("\xf4\x8f\xbf\xbf", true);
  check_all_offsets(std::string_view("\0", 1), true);
}

TEST_CASE("overlong, surrogate, cut and stray bytes are not UTF-8") {
  for (const char* bytes :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xff", "\xc2", "\xe1\x80", "\xf1\x80\x80", "\xc2\x41", "\xe1\x80\x41"}) {
    check_all_offsets(bytes, false);
  }
}
