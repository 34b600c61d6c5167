#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace txbox {

/// Length of the random part that each outbox row carries (column `nonce`).
inline constexpr std::size_t kNonceSize = 10;

/// The event id of a row that was given none: a UUIDv7 (RFC 9562, 5.7) of the row's `created_at` and
/// `nonce`, in lower case. The same row always has the same id, a row written again after a backup was
/// restored has another, and ids rise with time so that a consumer's claims lie close together.
/// Digits: 12 of the time, `7`, nonce digits 1-3, variant (8, 9, a, b) from nonce digit 4, nonce digits 5-7, 8-19.
/// REQUIRES: nonce.size() == kNonceSize, 0 <= created_at_ms < 2^48. libstore's SQL composes the same.
[[nodiscard]] std::string event_id_from(std::int64_t created_at_ms, std::span<const std::uint8_t> nonce);

}  // namespace txbox
