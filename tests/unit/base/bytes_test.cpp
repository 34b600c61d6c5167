#include <array>
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include <txbox/base/bytes.hpp>
#include <txbox/base/headers.hpp>

using txbox::Bytes;
using txbox::BytesView;

TEST_CASE("null, empty and bytes are three different values") {
  CHECK(Bytes().is_null());
  CHECK(Bytes(nullptr).is_null());
  CHECK(Bytes(static_cast<const char*>(nullptr)).is_null());
  CHECK_FALSE(Bytes("").is_null());
  CHECK(Bytes("") != Bytes());
  CHECK(BytesView(std::string_view()) != BytesView());
  CHECK(BytesView(std::string_view()).data() != nullptr);
  CHECK(BytesView().data() == nullptr);
}

TEST_CASE("bytes keep NUL and invalid UTF-8") {
  const std::array<std::uint8_t, 3> raw{0x00, 0xff, 0x80};
  const Bytes bytes{std::span<const std::uint8_t>(raw)};
  CHECK(bytes.view() == std::string_view("\x00\xff\x80", 3));
  CHECK(BytesView(bytes).size() == 3);
}

TEST_CASE("the last header of a name wins a lookup, and order and repeats are kept") {
  const txbox::Headers headers{{"a", "1"}, {"b", nullptr}, {"a", "2"}};
  REQUIRE(headers.last("a") != nullptr);
  CHECK(headers.last("a")->value == Bytes("2"));
  CHECK(headers.last("b")->value.is_null());
  CHECK(headers.last("c") == nullptr);
  CHECK(headers.size() == 3);
}

TEST_CASE("assigned bytes are null, empty or bytes as what they come from, whatever was there before") {
  Bytes bytes("something longer than a string keeps in itself");
  bytes.assign(BytesView(std::string_view("short")));
  CHECK(bytes == Bytes("short"));
  bytes.assign(nullptr);
  CHECK(bytes == Bytes(nullptr));
  bytes.assign(BytesView(std::string_view("")));
  CHECK(bytes == Bytes(""));
  CHECK_FALSE(bytes.is_null());
}
