#pragma once

#include <cstdint>
#include <string>

namespace txbox::bench {

/// The records that a benchmark writes, the same for both sides: record `i` has one of 1,000 keys and a payload that
/// begins with its number.
inline constexpr std::int64_t kKeys = 1000;

[[nodiscard]] std::string key_of(std::int64_t i);
/// REQUIRES: bytes >= kPayloadMin.
[[nodiscard]] std::string payload_of(std::int64_t i, std::int64_t bytes);
inline constexpr std::int64_t kPayloadMin = 12;
/// The number that a payload begins with; -1 for any other payload.
[[nodiscard]] std::int64_t number_in(const void* payload, std::size_t size);

/// Headers as the relay adds them, of the same length: a UUIDv7's text and a time in ms.
[[nodiscard]] std::string event_id_header(std::int64_t i);
[[nodiscard]] std::string created_at_header();

}  // namespace txbox::bench
