#include <string>

#include <doctest/doctest.h>

#include <txbox/store/outbox_prune.hpp>
#include <txbox/store/outbox_queries.hpp>

#include "support/expect_error.hpp"
#include "support/relay_store.hpp"

using txbox::ErrorCode;
using txbox::store::HeldState;
using txbox::store::OutboxPruner;
using txbox::store::PruneLimits;
using txbox::store::PruneStep;
using txbox::test::code_of;
using txbox::test::RelayStore;

namespace {

constexpr std::int64_t kFuture = 4'000'000'000'000;

std::string rows_left(RelayStore& store) { return store.app.text("SELECT group_concat(id) FROM outbox").value_or(""); }

std::int64_t prune_all(OutboxPruner& pruner, const PruneLimits& limits) {
  std::int64_t deleted = 0;
  for (int step = 0; step < 100; ++step) {
    const PruneStep result = pruner.step(limits);
    deleted += result.deleted;
    if (!result.more) return deleted;
  }
  FAIL("retention does not end");
  return deleted;
}

}  // namespace

TEST_CASE("only sent, settled rows go, with their receipts, and the newest row stays") {
  RelayStore store;
  store.add("orders", "k", 7);
  store.mark({store.receipt(1), store.receipt(2), store.receipt(4), store.receipt(6), store.receipt(7)},
             {store.hold(3, HeldState::parked)}, 4);
  OutboxPruner pruner(store.relay->writing);
  CHECK(prune_all(pruner, {.sent_before_ms = kFuture, .skipped_before_ms = kFuture, .rows = 2}) == 3);
  CHECK(rows_left(store) == "3,5,6,7");
  CHECK(store.app.text("SELECT group_concat(id) FROM outbox_sent") == "6,7");
  store.mark({store.receipt(5), store.receipt(3)}, {}, 7);
  CHECK(prune_all(pruner, {.sent_before_ms = kFuture}) == 3);
  CHECK(rows_left(store) == "7");
  CHECK(prune_all(pruner, {.sent_before_ms = kFuture}) == 0);
  store.add();
  CHECK(rows_left(store) == "7,8");
  CHECK(store.app.number("SELECT pruned_through FROM outbox_progress") == 6);
}

TEST_CASE("no age, however odd, touches a row that is not sent") {
  RelayStore store;
  store.add("orders", "k", 6);
  store.mark({},
             {store.hold(1, HeldState::parked), store.hold(2, HeldState::blocked), store.hold(3, HeldState::ready),
              store.hold(4, HeldState::waiting)},
             4);
  OutboxPruner pruner(store.relay->writing);
  for (const std::int64_t age : {std::int64_t{-1}, std::int64_t{0}, kFuture, std::int64_t{1} << 62}) {
    prune_all(pruner, {.sent_before_ms = age, .skipped_before_ms = age});
  }
  CHECK(rows_left(store) == "1,2,3,4,5,6");
  CHECK(store.app.number("SELECT count(*) FROM outbox_held") == 4);
}

TEST_CASE("a receipt that is too young keeps its row, and one sent late keeps no other") {
  RelayStore store;
  store.add("orders", "k", 5);
  std::vector<txbox::store::Receipt> receipts;
  for (std::int64_t id = 1; id <= 5; ++id) {
    receipts.push_back(store.receipt(id));
    receipts.back().sent_at_ms = id == 2 ? 900 : 100;
  }
  store.mark(receipts, {}, 5);
  OutboxPruner pruner(store.relay->writing);
  CHECK(prune_all(pruner, {.sent_before_ms = 100, .rows = 3}) == 0);
  CHECK(prune_all(pruner, {.sent_before_ms = 101, .rows = 3}) == 3);
  CHECK(rows_left(store) == "2,5");
  CHECK(prune_all(pruner, {.sent_before_ms = 901, .rows = 3}) == 1);
}

TEST_CASE("skipped rows go by a limit of their own, with their note") {
  RelayStore store;
  store.add("orders", "k", 4);
  store.mark({store.receipt(1)}, {store.hold(2, HeldState::skipped), store.hold(3, HeldState::skipped)}, 3);
  OutboxPruner pruner(store.relay->writing);
  CHECK(prune_all(pruner, {.sent_before_ms = kFuture}) == 1);
  CHECK(prune_all(pruner, {.skipped_before_ms = 1000}) == 0);
  CHECK(prune_all(pruner, {.skipped_before_ms = kFuture, .rows = 1}) == 2);
  CHECK(rows_left(store) == "4");
  CHECK(store.app.number("SELECT count(*) FROM outbox_held") == 0);
}

TEST_CASE("counts stay right while retention leaves gaps") {
  RelayStore store;
  store.add("orders", "k", 10);
  std::vector<txbox::store::Receipt> receipts;
  for (const std::int64_t id : {1, 2, 3, 5, 6, 8}) receipts.push_back(store.receipt(id));
  store.mark(receipts, {store.hold(4, HeldState::skipped), store.hold(7, HeldState::parked)}, 8);
  OutboxPruner pruner(store.relay->writing);
  for (int step = 0; step < 8; ++step) {
    pruner.step({.sent_before_ms = kFuture, .skipped_before_ms = kFuture, .rows = 1});
    const auto counts = txbox::store::count_outbox(store.app);
    CHECK(counts.sent == store.app.number("SELECT count(*) FROM outbox_status WHERE state = 'sent'"));
    CHECK(counts.ready == 2);
    CHECK(counts.parked == 1);
  }
  CHECK(rows_left(store) == "7,9,10");
}

TEST_CASE("a receipt of another row deletes nothing") {
  RelayStore store;
  store.add("orders", "k", 2);
  store.app.run("INSERT INTO outbox_sent VALUES (1, x'0000000000000001', 1, 0, 5, 1)");
  store.app.run("UPDATE outbox_progress SET settled_through = 1");
  OutboxPruner pruner(store.relay->writing);
  CHECK(code_of([&] { pruner.step({.sent_before_ms = kFuture}); }) == ErrorCode::restored);
  CHECK(rows_left(store) == "1,2");
}

TEST_CASE("a tool's connection prunes too and has its triggers again afterwards") {
  RelayStore store;
  store.add("orders", "k", 2);
  store.mark({store.receipt(1)}, {}, 1);
  auto connection = txbox::store::Connection::open(store.path, {});
  OutboxPruner pruner(connection);
  CHECK(pruner.step({.sent_before_ms = kFuture}).deleted == 1);
  CHECK(sqlite3_exec(connection.handle(), "DELETE FROM outbox", nullptr, nullptr, nullptr) ==
        SQLITE_CONSTRAINT_TRIGGER);
  CHECK(rows_left(store) == "2");
}
