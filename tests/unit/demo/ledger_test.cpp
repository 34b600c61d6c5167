#include "relay/demo/ledger.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using txbox::Bytes;
using txbox::relay::demo::Balance;
using txbox::relay::demo::balance_of;
using txbox::relay::demo::CommittedOrder;
using txbox::relay::demo::Ledger;
using txbox::relay::demo::PublishedEvent;

CommittedOrder order(const std::string& id, const std::string& account) { return {id, account, "payload of " + id}; }

/// An event as the relay should publish `order`.
PublishedEvent event(const CommittedOrder& order, std::int32_t partition, std::int64_t offset) {
  return {.partition = partition,
          .offset = offset,
          .event_id = order.event_id,
          .key = order.account,
          .payload = order.payload};
}

const CommittedOrder kA1 = order("a1", "alice");
const CommittedOrder kB1 = order("b1", "bob");
const CommittedOrder kA2 = order("a2", "alice");
const CommittedOrder kA3 = order("a3", "alice");
const Ledger kLedger{.committed = {kA1, kB1, kA2, kA3}, .rolled_back = 2};

}  // namespace

TEST_CASE("a topic with every order once holds the balance") {
  const Balance balance =
      balance_of(kLedger, std::vector{event(kA1, 0, 0), event(kA2, 0, 1), event(kA3, 0, 2), event(kB1, 1, 0)});
  CHECK(balance.holds());
  CHECK(balance.committed == 4);
  CHECK(balance.published == 4);
  CHECK(balance.records == 4);
  CHECK(balance.duplicates == 0);
  CHECK(balance.rolled_back == 2);
  CHECK(balance.accounts == 2);
}

TEST_CASE("repeats of an already sent run are duplicates and no fault") {
  const Balance balance =
      balance_of(kLedger, std::vector{event(kA1, 0, 0), event(kA2, 0, 1), event(kA1, 0, 2), event(kA2, 0, 3),
                                      event(kA3, 0, 4), event(kB1, 1, 0), event(kB1, 1, 1)});
  CHECK(balance.holds());
  CHECK(balance.duplicates == 3);
  CHECK(balance.records == 7);
  CHECK(balance.published == 4);
}

TEST_CASE("copies of a second producer are duplicates of their own kind") {
  std::vector events{event(kA1, 0, 0), event(kA2, 0, 1), event(kA1, 0, 2),
                     event(kA2, 0, 3), event(kA3, 0, 4), event(kB1, 1, 0)};
  events[2].copied = true;
  const Balance balance = balance_of(kLedger, events);
  CHECK(balance.holds());
  CHECK(balance.duplicates == 2);
  CHECK(balance.copies == 1);
}

TEST_CASE("records are judged by their offsets, not by the order in which they were read") {
  CHECK(
      balance_of(kLedger, std::vector{event(kB1, 1, 7), event(kA3, 0, 9), event(kA1, 0, 3), event(kA2, 0, 5)}).holds());
}

TEST_CASE("a committed order that Kafka does not hold is lost") {
  const Balance balance = balance_of(kLedger, std::vector{event(kA1, 0, 0), event(kA3, 0, 1), event(kB1, 1, 0)});
  CHECK_FALSE(balance.holds());
  CHECK(balance.lost == 1);
  CHECK(balance.published == 3);
  CHECK(balance.out_of_order == 0);
}

TEST_CASE("a record of no committed order is invented, with or without an id") {
  std::vector events{event(kA1, 0, 0), event(kA2, 0, 1), event(kA3, 0, 2), event(kB1, 1, 0)};
  events.push_back(event(order("rolled back", "bob"), 1, 1));
  events.push_back({.partition = 1, .offset = 2, .event_id = "", .key = "bob", .payload = "?"});
  const Balance balance = balance_of(kLedger, events);
  CHECK_FALSE(balance.holds());
  CHECK(balance.invented == 2);
  CHECK(balance.lost == 0);
}

TEST_CASE("a first occurrence behind a later order of its account is out of order") {
  const Balance balance =
      balance_of(kLedger, std::vector{event(kA1, 0, 0), event(kA3, 0, 1), event(kA2, 0, 2), event(kB1, 1, 0)});
  CHECK_FALSE(balance.holds());
  CHECK(balance.out_of_order == 1);
  CHECK(balance.lost == 0);
}

TEST_CASE("an account that appears in two partitions is out of order") {
  const Balance balance =
      balance_of(kLedger, std::vector{event(kA1, 0, 0), event(kA2, 1, 0), event(kA3, 1, 1), event(kB1, 1, 2)});
  CHECK_FALSE(balance.holds());
  CHECK(balance.out_of_order == 1);
}

TEST_CASE("another key or payload than was committed is altered, null and empty told apart") {
  std::vector events{event(kA1, 0, 0), event(kA2, 0, 1), event(kA3, 0, 2), event(kB1, 1, 0)};
  events[0].payload = "payload of somebody else";
  events[1].key = Bytes(nullptr);
  events[3].payload = "";
  const Balance balance = balance_of(kLedger, events);
  CHECK_FALSE(balance.holds());
  CHECK(balance.altered == 3);
}

TEST_CASE("an empty shop and an empty topic balance") {
  CHECK(balance_of({}, {}).holds());
  CHECK_FALSE(balance_of(kLedger, {}).holds());
}
