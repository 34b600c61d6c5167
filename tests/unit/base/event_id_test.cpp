#include <array>
#include <cstdint>

#include <doctest/doctest.h>

#include <txbox/base/event_id.hpp>

TEST_CASE("an event id is the UUIDv7 of time and nonce, digit by digit") {
  const std::array<std::uint8_t, 10> nonce{0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x0f, 0xed};
  // RFC 9562, 5.7: 48 bits of time, version 7, 12 bits, variant 10, 62 bits. The example's time is the RFC's own (A.6).
  CHECK(txbox::event_id_from(0x017F22E279B0, nonce) == "017f22e2-79b0-7123-8567-89abcdef00fe");
}

TEST_CASE("the variant of an event id is always one of 8 9 a b") {
  for (unsigned digit = 0; digit < 16; ++digit) {
    const std::array<std::uint8_t, 10> nonce{0xff, static_cast<std::uint8_t>(0xf0U | digit)};
    const char variant = txbox::event_id_from(1, nonce)[19];
    CHECK(variant == "89ab"[digit % 4]);
  }
}

TEST_CASE("event ids of later rows sort later") {
  const std::array<std::uint8_t, 10> high{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  const std::array<std::uint8_t, 10> low{};
  CHECK(txbox::event_id_from(1'700'000'000'000, high) < txbox::event_id_from(1'700'000'000'001, low));
}
