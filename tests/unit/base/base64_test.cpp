#include <txbox/base/base64.hpp>

#include <string>

#include <doctest/doctest.h>

using txbox::base::base64_decode;
using txbox::base::base64_encode;

TEST_CASE("base64 is RFC 4648's, by its own vectors, and back") {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    CHECK(base64_encode(bytes) == text);
    CHECK(base64_decode(text) == std::string(bytes));
  }
}

TEST_CASE("every byte survives base64 at every position") {
  for (int byte = 0; byte < 256; ++byte) {
    for (std::size_t before = 0; before < 3; ++before) {
      const std::string bytes = std::string(before, 'x') + static_cast<char>(byte) + std::string(before, '\0');
      CHECK(base64_decode(base64_encode(bytes)) == bytes);
    }
  }
}

TEST_CASE("what no encoder writes is refused") {
  for (const char* text : {"A", "AA", "AAA", "A===", "====", "=AAA", "AA=A", "AAE", "AAF=", "AB==", "AA E=", "AA-_",
                           "AAE=\n", "AAE=AAE="}) {
    CAPTURE(text);
    CHECK_FALSE(base64_decode(text).has_value());
  }
}
