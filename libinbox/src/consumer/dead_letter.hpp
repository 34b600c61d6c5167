#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <txbox/base/headers.hpp>
#include <txbox/inbox/message.hpp>

namespace txbox::inbox::consumer {

/// What is said in a dead letter about how it came to be one.
struct DeadLetterFacts {
  std::string_view group;
  std::string_view reason;  ///< Tidied (error_text.hpp).
  int attempts = 0;         ///< Tries that the handler was given.
  std::int64_t now_ms = 0;
};

/// How Kafka names the headers of a dead letter (KIP-1191); `attempts`, `group` and `time` are ours.
inline constexpr std::string_view kDeadLetterPrefix = "__dlq.errors.";

[[nodiscard]] inline std::string dead_letter_topic(std::string_view topic) { return std::string(topic) + ".dlq"; }

/// Every header the message came with, in its order, its `id` included, then `__dlq.errors.topic`, `.partition`,
/// `.offset`, `.message`, `.attempts`, `.group` and `.time` (ms since 1970). Those of an earlier dead letter are
/// replaced: a message that is sent back and fails again does not grow.
[[nodiscard]] Headers dead_letter_headers(const Message& message, const DeadLetterFacts& facts);

/// Whether somebody sent this message back after it was a dead letter.
[[nodiscard]] bool was_dead_letter(const Headers& headers) noexcept;

}  // namespace txbox::inbox::consumer
