#pragma once

#include <string>

namespace txbox::kafka {

/// What a librdkafka code speaks of, told apart in one switch (docs/architecture.md, "Three outcomes").
enum class ErrorScope {
  none,    ///< No error.
  record,  ///< This record, or its batch, is refused for good: MSG_SIZE_TOO_LARGE, INVALID_RECORD, ...
  topic,   ///< The topic is missing or not authorized; another record would fare no better.
  authentication,
  tls,
  transport,  ///< Unreachable, late or without a leader: it passes.
  producer,   ///< The producer instance is at its end (fatal): rebuild it.
  other,      ///< Anything else, judged as unknown.
};
/// `code` is an rd_kafka_resp_err_t.
[[nodiscard]] ErrorScope scope_of(int code) noexcept;
/// Kafka's name and text: "MSG_SIZE_TOO_LARGE: Broker: Message size too large".
[[nodiscard]] std::string describe(int code);

}  // namespace txbox::kafka
