#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include <txbox/store/outbox_marker.hpp>

#include "support/expect_error.hpp"
#include "support/relay_store.hpp"

using namespace std::chrono_literals;
using txbox::ErrorCode;
using txbox::store::HeldState;
using txbox::store::Hold;
using txbox::store::lane_of;
using txbox::store::Receipt;
using txbox::test::code_of;
using txbox::test::RelaySide;
using txbox::test::RelayStore;

namespace {

const auto kLane = lane_of("orders", std::nullopt, "k");

}  // namespace

TEST_CASE("a receipt makes a row sent and says where it is in Kafka") {
  RelayStore store;
  store.add("orders", "k", 2);
  store.relay->marker.use_cluster("cluster-a");
  store.relay->marker.use_cluster("cluster-b");
  const auto result = store.mark({store.receipt(1)}, {}, 1);
  CHECK(result.settled_through == 1);
  CHECK(store.state_of(1) == "sent");
  CHECK(store.state_of(2) == "ready");
  CHECK(store.app.text("SELECT partition || ' ' || offset || ' ' || sent_at FROM outbox_status WHERE id = 1") ==
        "1 101 1700000000000");
  CHECK(store.app.text("SELECT cluster_id FROM outbox_sent JOIN outbox_cluster ON number = cluster") == "cluster-b");
  store.relay->marker.use_cluster("cluster-a");
  CHECK(store.app.number("SELECT count(*) FROM outbox_cluster") == 2);
}

TEST_CASE("the same marking made again changes nothing (two relays, or a repeat after an error)") {
  RelayStore store;
  store.add("orders", "k", 4);
  RelaySide other(store.path);
  const std::vector<Receipt> receipts{store.receipt(1), store.receipt(2)};
  const std::vector<Hold> holds{store.hold(3, HeldState::parked), store.hold(4, HeldState::blocked)};
  store.mark(receipts, holds, 4);
  std::vector<Receipt> later = receipts;
  for (Receipt& receipt : later) receipt.offset += 50;
  CHECK(other.marker.mark({.receipts = later, .holds = holds, .settled_through = 4, .lanes = {}}).settled_through == 4);
  CHECK(store.app.number("SELECT offset FROM outbox_sent WHERE id = 1") == 101);
  CHECK(store.app.number("SELECT count(*) FROM outbox_sent") == 2);
  CHECK(store.app.number("SELECT count(*) FROM outbox_held") == 2);
}

TEST_CASE("a receipt takes the held row away and a held row is never written beside a receipt") {
  RelayStore store;
  store.add("orders", "k", 2);
  store.mark({}, {store.hold(1, HeldState::parked), store.hold(2, HeldState::blocked)}, 2);
  store.mark({store.receipt(1)});
  CHECK(store.state_of(1) == "sent");
  CHECK(store.app.number("SELECT count(*) FROM outbox_held WHERE id = 1") == 0);
  store.mark({}, {store.hold(1, HeldState::parked)});
  CHECK(store.app.number("SELECT count(*) FROM outbox_held WHERE id = 1") == 0);
  // Both in one request: the receipt wins, wherever it stands.
  store.mark({store.receipt(2)}, {store.hold(2, HeldState::parked)});
  CHECK(store.app.number("SELECT count(*) FROM outbox_held") == 0);
}

TEST_CASE("settled_through rises only over rows with a receipt or a held row, and never falls") {
  RelayStore store;
  store.add("orders", "k", 5);
  CHECK(store.mark({store.receipt(1), store.receipt(3)}, {}, 3).settled_through == 0);
  CHECK(store.mark({}, {}, 1).settled_through == 1);
  CHECK(store.mark({}, {store.hold(2, HeldState::parked)}, 3).settled_through == 3);
  CHECK(store.mark({}, {}, 2).settled_through == 3);
  CHECK(store.mark({store.receipt(4)}, {}, 5).settled_through == 3);
  // A row in both, which I3 forbids, must not count for one that has neither.
  store.app.run(
      "INSERT INTO outbox_held(id, nonce, state) SELECT id, substr(nonce, 1, 8), 'parked' FROM outbox WHERE id = 4");
  CHECK(store.mark({}, {}, 5).settled_through == 3);
  CHECK(store.mark({store.receipt(5)}, {}, 9).settled_through == 3);
  CHECK(store.mark({}, {}, 5).settled_through == 5);
}

TEST_CASE("settled_through passes the gaps that retention left") {
  RelayStore store;
  store.add("orders", "k", 4);
  store.mark({store.receipt(1), store.receipt(2), store.receipt(4)}, {store.hold(3, HeldState::parked)});
  store.app.run("DROP TRIGGER outbox_no_delete; DELETE FROM outbox WHERE id = 2; DELETE FROM outbox_sent WHERE id = 2");
  txbox::store::install(store.app, {});
  CHECK(store.mark({}, {}, 4).settled_through == 4);
}

TEST_CASE("what a person parked or skipped stays, and the relay's own states change") {
  RelayStore store;
  store.add("orders", "k", 3);
  store.mark(
      {}, {store.hold(1, HeldState::parked), store.hold(2, HeldState::skipped), store.hold(3, HeldState::blocked)}, 3);
  Hold refused = store.hold(1, HeldState::parked);
  refused.last_error = "MSG_SIZE_TOO_LARGE: too large";
  refused.attempts = 1;
  store.mark({}, {refused, store.hold(2, HeldState::blocked), store.hold(3, HeldState::waiting)});
  CHECK(store.state_of(1) == "parked");
  CHECK(store.app.text("SELECT last_error FROM outbox_held WHERE id = 1") == "MSG_SIZE_TOO_LARGE: too large");
  CHECK(store.state_of(2) == "skipped");
  CHECK(store.state_of(3) == "waiting");
  store.mark({}, {store.hold(1, HeldState::blocked), store.hold(3, HeldState::ready)});
  CHECK(store.state_of(1) == "parked");
  CHECK(store.state_of(3) == "ready");
  CHECK(store.app.number("SELECT attempts FROM outbox_held WHERE id = 1") == 1);
}

TEST_CASE("a row that came back without its lane is not blocked by a relay that still knows the lane") {
  RelayStore store;
  store.add("orders", "k", 2);
  const std::vector<Hold> late{store.hold(2, HeldState::blocked)};
  store.app.run(
      "INSERT INTO outbox_held(id, nonce, state, redriven) SELECT id, substr(nonce, 1, 8), 'ready', 1 FROM outbox"
      " WHERE id = 2");
  store.mark({}, late);
  CHECK(store.state_of(2) == "ready");
  CHECK_FALSE(store.app.text("SELECT lane FROM outbox_held").has_value());
  Hold laneless = store.hold(1, HeldState::blocked);
  laneless.lane.reset();
  store.mark({}, {laneless});
  CHECK(store.state_of(1) == "ready");
}

TEST_CASE("a marking tells which lanes nothing waits in any more") {
  RelayStore store;
  store.add("orders", "k", 2);
  const auto other = lane_of("orders", std::nullopt, "other");
  auto result = store.mark({}, {store.hold(1, HeldState::parked)}, 1, {kLane, other});
  CHECK(result.clear_lanes == std::vector{other});
  store.app.run("UPDATE outbox_held SET state = 'skipped'");
  CHECK(store.mark({}, {}, 0, {kLane}).clear_lanes == std::vector{kLane});
}

TEST_CASE("a note whose nonce does not fit its row is refused whole, as restored") {
  RelayStore store;
  store.add("orders", "k", 3);
  std::vector<Receipt> receipts{store.receipt(1), store.receipt(2)};
  std::vector<Hold> holds;
  SUBCASE("a receipt") { receipts[0].nonce_prefix += 1; }
  SUBCASE("a row that is not there") { receipts[1].id = 9; }
  SUBCASE("a hold") {
    holds.push_back(store.hold(3, HeldState::parked));
    holds[0].nonce_prefix += 1;
  }
  SUBCASE("the receipt that stands") {
    store.app.run("INSERT INTO outbox_sent VALUES (1, x'0000000000000001', 1, 0, 5, 1)");
  }
  SUBCASE("the held row that stands") {
    store.app.run("INSERT INTO outbox_held(id, nonce, state) VALUES (1, x'0000000000000001', 'parked')");
  }
  const auto before = store.app.number("SELECT count(*) FROM outbox_sent");
  CHECK(code_of([&] { store.mark(receipts, holds, 2); }) == ErrorCode::restored);
  CHECK(store.app.number("SELECT count(*) FROM outbox_sent") == before);
  CHECK(sqlite3_get_autocommit(store.relay->writing.handle()) != 0);
}

TEST_CASE("a settled_through beyond the newest row stops the marking") {
  RelayStore store;
  store.add();
  const std::vector<Receipt> receipts{store.receipt(1)};
  store.app.run("UPDATE outbox_progress SET settled_through = 2");
  CHECK(code_of([&] { store.mark(receipts); }) == ErrorCode::restored);
}

TEST_CASE("a late note for a row that retention took is passed over") {
  RelayStore store;
  store.add("orders", "k", 3);
  const auto receipts = std::vector{store.receipt(1), store.receipt(2)};
  store.mark(receipts, {}, 2);
  store.app.run(
      "DROP TRIGGER outbox_no_delete; DELETE FROM outbox WHERE id = 1; DELETE FROM outbox_sent WHERE id = 1;"
      "UPDATE outbox_progress SET pruned_through = 1");
  txbox::store::install(store.app, {});
  store.mark(receipts, {}, 2);
  CHECK(store.app.number("SELECT count(*) FROM outbox_sent") == 1);
}

TEST_CASE("notes far apart and in any order are matched one by one") {
  RelayStore store;
  store.add("orders", "k", 500);
  store.mark({store.receipt(500), store.receipt(1)}, {store.hold(250, HeldState::parked)});
  CHECK(store.app.number("SELECT count(*) FROM outbox_sent WHERE id IN (1, 500)") == 2);
  auto wrong = store.receipt(400);
  wrong.nonce_prefix += 1;
  const auto first = store.receipt(2);
  CHECK(code_of([&] { store.mark({first, wrong}); }) == ErrorCode::restored);
  auto missing = store.receipt(2);
  missing.id = 900;
  CHECK(code_of([&] { store.mark({first, missing}); }) == ErrorCode::restored);
}

TEST_CASE("a writer that holds the lock makes the marking busy, and later it succeeds") {
  RelayStore store;
  store.add();
  const auto receipts = std::vector{store.receipt(1)};
  store.relay->writing.set_busy_deadline(5ms);
  store.app.run("BEGIN IMMEDIATE");
  CHECK(code_of([&] { store.mark(receipts); }) == ErrorCode::busy);
  CHECK(code_of([&] { store.relay->marker.release_due(1, 1); }) == ErrorCode::busy);
  store.app.run("COMMIT");
  store.mark(receipts, {}, 1);
  CHECK(store.state_of(1) == "sent");
}

TEST_CASE("a full disk fails the marking whole, and it succeeds when there is room") {
  RelayStore store;
  store.add("orders", "k", 2000);
  std::vector<Receipt> receipts;
  for (const auto& row : store.relay->read(0, 2000)) {
    receipts.push_back(
        {.id = row.id, .nonce_prefix = row.nonce_prefix, .partition = 0, .offset = row.id, .sent_at_ms = 1});
  }
  sqlite3_exec(store.relay->writing.handle(), "PRAGMA max_page_count = 1", nullptr, nullptr, nullptr);
  CHECK(code_of([&] { store.mark(receipts, {}, 2000); }) == ErrorCode::disk_full);
  CHECK(store.app.number("SELECT count(*) FROM outbox_sent") == 0);
  sqlite3_exec(store.relay->writing.handle(), "PRAGMA max_page_count = 1000000", nullptr, nullptr, nullptr);
  CHECK(store.mark(receipts, {}, 2000).settled_through == 2000);
}

TEST_CASE("nothing is written into a file that was moved or deleted") {
  RelayStore store;
  store.add();
  const auto receipts = std::vector{store.receipt(1)};
  std::filesystem::rename(store.path, store.path + ".away");
  CHECK(code_of([&] { store.mark(receipts); }) == ErrorCode::moved);
  CHECK(code_of([&] { store.relay->marker.use_cluster("c"); }) == ErrorCode::moved);
  CHECK(code_of([&] { store.relay->marker.release_lane(kLane, 1); }) == ErrorCode::moved);
  CHECK(store.app.number("SELECT count(*) FROM outbox_sent") == 0);
}

TEST_CASE("a write-ahead log that was deleted or replaced under the relay stops it") {
  for (const char* suffix : {"-wal", "-shm"}) {
    for (const bool replaced : {false, true}) {
      CAPTURE(suffix);
      CAPTURE(replaced);
      RelayStore store;
      store.add();
      const auto receipts = std::vector{store.receipt(1)};
      const std::string side = store.path + suffix;
      std::filesystem::rename(side, side + ".away");
      if (replaced) std::filesystem::copy_file(side + ".away", side);
      CHECK(code_of([&] { store.mark(receipts); }) == ErrorCode::moved);
      CHECK(code_of([&] { store.relay->read(0); }) == ErrorCode::moved);
      CHECK(store.app.number("SELECT count(*) FROM outbox_sent") == 0);
      std::filesystem::rename(side + ".away", side);
      CHECK(store.mark(receipts).settled_through == 0);
    }
  }
}

TEST_CASE("a file that was emptied under the relay stops it") {
  RelayStore store;
  store.add();
  const auto receipts = std::vector{store.receipt(1)};
  store.app.run("PRAGMA wal_checkpoint(FULL)");
  std::filesystem::resize_file(store.path, 0);
  CHECK(code_of([&] { store.mark(receipts); }) == ErrorCode::corrupt);
  CHECK(code_of([&] { store.relay->read(0); }) == ErrorCode::corrupt);
  CHECK(std::filesystem::file_size(store.path) == 0);
}

TEST_CASE("an application's trigger on our tables does not run in the relay") {
  RelayStore store;
  store.app.run(
      "CREATE TABLE seen(id); CREATE TRIGGER spy AFTER INSERT ON outbox_sent BEGIN INSERT INTO seen VALUES (NEW.id); "
      "END");
  store.add();
  store.mark({store.receipt(1)}, {}, 1);
  CHECK(store.state_of(1) == "sent");
  CHECK(store.app.number("SELECT count(*) FROM seen") == 0);
}

TEST_CASE("scheduled rows become ready when they are due, a few at a time") {
  RelayStore store;
  store.add("orders", "k", 4);
  std::vector<Hold> holds;
  for (std::int64_t id = 1; id <= 4; ++id) {
    holds.push_back(store.hold(id, HeldState::scheduled));
    holds.back().due_at_ms = 1000 * id;
  }
  store.mark({}, holds, 4);
  auto& marker = store.relay->marker;
  CHECK(marker.release_due(999, 10) == 0);
  CHECK(marker.release_due(3000, 2) == 2);
  CHECK(store.state_of(2) == "ready");
  CHECK(store.state_of(3) == "scheduled");
  CHECK(marker.release_due(3000, 2) == 1);
  CHECK(marker.release_due(3000, 2) == 0);
  CHECK(store.state_of(4) == "scheduled");
}

TEST_CASE("the waiting rows of one topic become ready in order, also beside many of another topic") {
  RelayStore store;
  for (int index = 0; index < 6; ++index) store.add(index % 2 == 0 ? "orders" : "bills", "k");
  std::vector<Hold> holds;
  for (std::int64_t id = 1; id <= 6; ++id) holds.push_back(store.hold(id, HeldState::waiting));
  store.mark({}, holds, 6);
  auto& marker = store.relay->marker;
  const auto first = marker.release_topic("orders", 0, 2);
  CHECK(first.rows == 2);
  CHECK(first.through == 3);
  CHECK(store.state_of(3) == "ready");
  CHECK(store.state_of(5) == "waiting");
  // It waits again behind the walk: the walk goes on, and only another one comes back to it.
  store.mark({}, {store.hold(1, HeldState::waiting)});
  const auto second = marker.release_topic("orders", first.through, 2);
  CHECK(second.rows == 1);
  CHECK(second.through == 5);
  CHECK(store.state_of(1) == "waiting");
  CHECK(store.state_of(5) == "ready");
  CHECK(marker.release_topic("orders", second.through, 2).rows == 0);
  CHECK(marker.release_topic("orders", second.through, 2).through == 5);
  CHECK(marker.release_topic("orders", 0, 2).rows == 1);
  CHECK(store.state_of(1) == "ready");
  CHECK(store.state_of(2) == "waiting");
  CHECK(marker.release_topic("nothing", 0, 2).rows == 0);
}

TEST_CASE("a lane is released no further than twice the limit beyond what is still to be sent") {
  RelayStore store;
  store.add("orders", "k", 6);
  std::vector<Hold> holds;
  for (std::int64_t id = 1; id <= 6; ++id) holds.push_back(store.hold(id, HeldState::blocked));
  store.mark({}, holds, 6);
  auto& marker = store.relay->marker;
  CHECK(marker.release_lane(kLane, 1) == 1);
  CHECK(marker.release_lane(kLane, 1) == 1);
  CHECK(marker.release_lane(kLane, 1) == 0);
  CHECK(store.state_of(3) == "blocked");
  store.mark({store.receipt(1)}, {}, 6);
  CHECK(marker.release_lane(kLane, 1) == 1);
  CHECK(store.state_of(3) == "ready");
}

TEST_CASE("a lane is released up to the first row that is parked or waits for its topic") {
  RelayStore store;
  store.add("orders", "k", 6);
  store.mark({},
             {store.hold(1, HeldState::skipped), store.hold(2, HeldState::blocked), store.hold(3, HeldState::blocked),
              store.hold(4, HeldState::blocked), store.hold(5, HeldState::parked), store.hold(6, HeldState::blocked)},
             6);
  auto& marker = store.relay->marker;
  CHECK(marker.release_lane(kLane + 1, 10) == 0);
  CHECK(marker.release_lane(kLane, 2) == 2);
  CHECK(store.state_of(3) == "ready");
  CHECK(store.state_of(4) == "blocked");
  CHECK(marker.release_lane(kLane, 10) == 1);
  CHECK(marker.release_lane(kLane, 10) == 0);
  CHECK(store.state_of(6) == "blocked");
  CHECK(store.state_of(1) == "skipped");
}

TEST_CASE("a row that is parked again blocks what was released behind it") {
  RelayStore store;
  store.add("orders", "k", 5);
  auto& marker = store.relay->marker;
  store.mark({}, {store.hold(1, HeldState::parked)}, 1);
  std::vector<Hold> behind;
  for (int id = 2; id <= 5; ++id) behind.push_back(store.hold(id, HeldState::blocked));
  store.mark({}, behind, 5);
  // A person retries, what stands behind is released, and Kafka refuses the row once more.
  store.app.run("UPDATE outbox_held SET state = 'ready', redriven = 1 WHERE id = 1");
  CHECK(marker.release_lane(kLane, 3) == 3);
  store.mark({}, {store.hold(1, HeldState::parked)});
  CHECK(store.state_of(1) == "parked");
  for (int id = 2; id <= 5; ++id) CHECK(store.state_of(id) == "blocked");
}

TEST_CASE("a row that a person retried and that is refused again lets its key go where the relay says so") {
  RelayStore store;
  store.add("orders", "k", 3);
  store.mark(
      {}, {store.hold(1, HeldState::parked), store.hold(2, HeldState::blocked), store.hold(3, HeldState::blocked)}, 3);
  store.app.run("UPDATE outbox_held SET state = 'ready', redriven = 1 WHERE id = 1");
  CHECK(store.relay->marker.release_lane(kLane, 1) == 1);
  Hold refused = store.hold(1, HeldState::parked);
  refused.lane.reset();
  store.mark({}, {refused});
  CHECK(store.state_of(1) == "parked");
  CHECK_FALSE(store.app.text("SELECT lane FROM outbox_held WHERE id = 1").has_value());
  CHECK(store.state_of(2) == "ready");
  CHECK(store.relay->marker.release_lane(kLane, 2) == 1);
  CHECK(store.state_of(3) == "ready");
}
