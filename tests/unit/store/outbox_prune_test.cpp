#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

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

std::int64_t prune_all(OutboxPruner& pruner, const PruneLimits& limits, int steps = 100) {
  std::int64_t deleted = 0;
  for (int step = 0; step < steps; ++step) {
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

TEST_CASE("rows that were sent late and stand among the oldest do not hold retention up") {
  RelayStore store;
  store.app.run(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 90000)"
      "INSERT INTO outbox(topic) SELECT 't' FROM n");
  // Young: a first stretch, single ones in the old one behind it, and what follows.
  store.app.run(
      "INSERT INTO outbox_sent SELECT id, substr(nonce, 1, 8), 1, 0, id,"
      "CASE WHEN id <= 30000 OR id > 60000 OR id % 10 = 0 THEN 9000 ELSE 100 END FROM outbox");
  store.app.run("UPDATE outbox_progress SET settled_through = 90000");
  OutboxPruner pruner(store.relay->writing);
  CHECK(prune_all(pruner, {.sent_before_ms = 5'000}, 1'000) == 27'000);
  CHECK(store.app.number("SELECT count(*) FROM outbox_sent WHERE sent_at = 100") == 0);
}

TEST_CASE("the last step of a walk tells how old the oldest receipt is that stays") {
  RelayStore store;
  store.add("orders", "k", 4);
  std::vector<txbox::store::Receipt> receipts;
  for (std::int64_t id = 1; id <= 4; ++id) {
    receipts.push_back(store.receipt(id));
    receipts.back().sent_at_ms = 100 * id;
  }
  store.mark(receipts, {}, 4);
  OutboxPruner pruner(store.relay->writing);
  CHECK(pruner.step({.sent_before_ms = 150}).deleted == 1);
  const PruneStep last = pruner.step({.sent_before_ms = 150});
  CHECK_FALSE(last.more);
  CHECK(last.oldest_sent_ms == 200);
  prune_all(pruner, {.sent_before_ms = kFuture});
  CHECK(pruner.step({.sent_before_ms = kFuture}).oldest_sent_ms == std::nullopt);
}

TEST_CASE("while an application holds the write lock nothing is deleted, and nothing forgotten") {
  RelayStore store;
  store.add("orders", "k", 6);
  store.mark({store.receipt(1), store.receipt(2), store.receipt(3)}, {}, 3);
  auto connection = txbox::store::Connection::open(store.path, {.busy_deadline = std::chrono::milliseconds(5)});
  OutboxPruner pruner(connection);
  store.app.run("BEGIN IMMEDIATE");
  CHECK(code_of([&] { pruner.step({.sent_before_ms = kFuture}); }) == ErrorCode::busy);
  store.app.run("ROLLBACK");
  CHECK(pruner.step({.sent_before_ms = kFuture}).deleted == 3);
}

TEST_CASE("a row that is held beside a receipt, against the rules, is not judged by retention") {
  RelayStore store;
  store.add("orders", "k", 3);
  store.mark({store.receipt(1), store.receipt(2)}, {}, 2);
  store.app.run("INSERT INTO outbox_held(id, nonce, state) SELECT id, nonce, 'ready' FROM outbox_sent WHERE id = 1");
  OutboxPruner pruner(store.relay->writing);
  CHECK(prune_all(pruner, {.sent_before_ms = kFuture, .skipped_before_ms = kFuture}) == 1);
  CHECK(rows_left(store) == "1,3");
}

TEST_CASE("pages go back to the file system where the file was made for it, and only there") {
  for (const bool incremental : {true, false}) {
    CAPTURE(incremental);
    const txbox::test::TempDir dir;
    txbox::test::AppDatabase app(dir.file("shop.db"));
    app.run(incremental ? "PRAGMA auto_vacuum=INCREMENTAL" : "PRAGMA auto_vacuum=NONE");
    txbox::store::install(app, {});
    app.run("VACUUM");
    app.run(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
        "INSERT INTO outbox(topic, payload) SELECT 'orders', hex(zeroblob(1000)) FROM n");
    app.run(
        "INSERT INTO outbox_sent(id, nonce, cluster, partition, offset, sent_at)"
        "SELECT id, substr(nonce, 1, 8), 1, 0, id, 1 FROM outbox");
    app.run("UPDATE outbox_progress SET settled_through = 2000");
    app.run("PRAGMA wal_checkpoint(TRUNCATE)");
    const auto size = std::filesystem::file_size(dir.file("shop.db"));
    auto connection = txbox::store::Connection::open(dir.file("shop.db"), {});
    OutboxPruner pruner(connection);
    CHECK(prune_all(pruner, {.sent_before_ms = kFuture}, 10'000) == 1999);
    app.run("PRAGMA wal_checkpoint(TRUNCATE)");
    const auto left = std::filesystem::file_size(dir.file("shop.db"));
    CHECK(app.text("PRAGMA integrity_check") == "ok");
    if (incremental) CHECK(left < size / 5);
    if (!incremental) CHECK(left == size);
  }
}
