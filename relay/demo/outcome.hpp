#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "relay/demo/books.hpp"
#include "relay/demo/ledger.hpp"

namespace txbox::relay::demo {

/// How the relay lived.
struct RelayLives {
  int kills = 0;
  int kills_after_publishing = 0;  ///< Of them, how many hit a relay that had published in that life.
  int failures = 0;                ///< Ends that nobody had asked for, or with another exit code than 0.
};

/// How the consumer lived.
struct ConsumerLives {
  int kills = 0;
  int kills_after_applying = 0;  ///< Of them, how many hit a consumer that had committed an effect in that life.
  std::int64_t undone = 0;       ///< Effects that were not committed yet and went with their process.
  int failures = 0;
  std::int64_t delivered = 0;  ///< Records below the positions that the consumer's database holds.
  std::int64_t unread = 0;     ///< Records of the topic at or above them.
};

/// All that was counted when it was over.
struct Outcome {
  Balance topic;              ///< The shop against Kafka.
  BooksBalance books;         ///< The shop against the billing.
  std::int64_t receipts = 0;  ///< Rows that the file says were sent.
  RelayLives relay;
  ConsumerLives consumer;
  std::uint64_t seed = 0;
  std::chrono::milliseconds took{0};

  /// Records that the consumer knew already.
  [[nodiscard]] std::int64_t skipped() const noexcept { return consumer.delivered - books.credits; }
  [[nodiscard]] bool holds() const noexcept;
  /// What is wrong, in words; empty when all holds.
  [[nodiscard]] std::string faults() const;
};

}  // namespace txbox::relay::demo
