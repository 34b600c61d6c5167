#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <txbox/base/bytes.hpp>

namespace txbox::relay::demo {

/// An order whose COMMIT returned, with the event that was committed with it.
struct CommittedOrder {
  std::string event_id;
  std::string account;  ///< The event's key.
  std::string payload;
};

/// What the order service did, in commit order.
struct Ledger {
  std::vector<CommittedOrder> committed;
  std::int64_t rolled_back = 0;
};

/// A record as Kafka holds it.
struct PublishedEvent {
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::string event_id;  ///< Header `id`; empty where there is none.
  Bytes key;
  Bytes payload;
  bool copied = false;  ///< Sent by the copier, not by the relay.
};

/// The ledger held against Kafka.
struct Balance {
  std::int64_t committed = 0;
  std::int64_t rolled_back = 0;
  std::int64_t records = 0;     ///< In Kafka, repeats included.
  std::int64_t published = 0;   ///< Committed orders that are in Kafka at least once.
  std::int64_t duplicates = 0;  ///< Repeats of a published one, the copier's included: at least once is the promise.
  std::int64_t copies = 0;      ///< Of them, those that the copier sent.
  std::int64_t accounts = 0;
  std::int64_t lost = 0;          ///< Committed, and not in Kafka.
  std::int64_t invented = 0;      ///< In Kafka, and never committed: a roll-back, or nothing at all.
  std::int64_t altered = 0;       ///< Another key or payload than was committed.
  std::int64_t out_of_order = 0;  ///< First occurrences that a later order of the same account came before.

  [[nodiscard]] bool holds() const noexcept { return lost == 0 && invented == 0 && altered == 0 && out_of_order == 0; }
};

/// Pure. `events` in any order; each partition is judged by its offsets.
[[nodiscard]] Balance balance_of(const Ledger& ledger, std::span<const PublishedEvent> events);

}  // namespace txbox::relay::demo
