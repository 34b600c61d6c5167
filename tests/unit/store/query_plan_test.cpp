#include <map>
#include <set>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <txbox/store/outbox_queries.hpp>
#include <txbox/store/statement.hpp>

#include "outbox_sql.hpp"
#include "support/relay_store.hpp"

using txbox::store::Statement;
using txbox::test::RelayStore;
namespace sql = txbox::store::sql;

namespace {

/// What may be walked whole: one row, or what is held, where the question is about all of it.
enum class Walk { nothing, held };

struct Planned {
  std::string_view text;
  Walk walk = Walk::nothing;
};

const Planned kStatements[] = {
    {sql::kSnapshotFacts},
    {sql::kReadAfter},
    {sql::kReadRow},
    {sql::kReceiptsBetween},
    {sql::kHeldBetween},
    {sql::kReadyAfter},
    {sql::kLaneBlockerBetween},
    {sql::kHeldLanes},
    {sql::kNewestDeed},
    {sql::kNextDue},
    {sql::kWaitingTopics},
    {sql::kMarkFacts},
    {sql::kNoncesBetween},
    {sql::kNonceOfRow},
    {sql::kInsertReceipt},
    {sql::kNonceOfReceipt},
    {sql::kNonceOfHeld},
    {sql::kDropHeld},
    {sql::kHold},
    {sql::kRaiseWhereFull},
    {sql::kRaiseWhereSettled},
    {sql::kSettledThrough},
    {sql::kLaneIsHeld},
    {sql::kFindCluster},
    {sql::kReleaseDue},
    {sql::kWaitingOfTopic},
    {sql::kLaneFromStart},
    {sql::kLaneBehind},
    {sql::kMakeReady},
    {sql::kMakeBlocked},
    {sql::kStateOfHeld},
    {sql::kLaneOfHeld},
    {sql::kParkByHand},
    {sql::kSkipByHand},
    {sql::kRetryByHand},
    {sql::kReceiptsToPrune},
    {sql::kHeldToPrune},
    {sql::kSentMayGo},
    {sql::kSkippedMayGo},
    {sql::kDeleteRow},
    {sql::kDeleteReceipt},
    {sql::kRaisePruned},
    {sql::kRemovedRows},
    {sql::kCountFacts},
    {sql::kCountHeld, Walk::held},
    {sql::kCountBlockedKeys, Walk::held},
    {sql::kCountLater},
    {sql::kOldestUnseen},
    {sql::kOldestReady},
    {sql::kStatusRow},
    {sql::kPayloadOfRow},
    {sql::kIdOfEvent},
    {sql::kIdEnds},
    {sql::kFirstFrom},
    {sql::kComposedBetween},
};

/// The steps of the plan that walk a table or index whole, by name.
std::set<std::string> walked_by(sqlite3* db, std::string_view text) {
  Statement plan(db, "EXPLAIN QUERY PLAN " + std::string(text));
  std::set<std::string> walked;
  while (plan.step()) {
    const std::string detail(plan.column_text(3));
    if (detail.rfind("SCAN ", 0) != 0 || detail == "SCAN CONSTANT ROW") continue;
    // A partial index holds nothing but the rows that are asked for.
    const bool partial = detail.find("outbox_held_ready") != std::string::npos ||
                         detail.find("outbox_held_scheduled") != std::string::npos ||
                         detail.find("outbox_held_waiting") != std::string::npos;
    if (!partial) walked.insert(detail.substr(5, detail.find(' ', 5) - 5));
  }
  return walked;
}

void expect_no_walk(sqlite3* db) {
  for (const Planned& statement : kStatements) {
    CAPTURE(statement.text);
    for (const std::string& table : walked_by(db, statement.text)) {
      CAPTURE(table);
      const bool one_row = table == "outbox_progress" || table == "p";
      const bool lanes = statement.text == sql::kHeldLanes && table == "outbox_held";
      const bool held = statement.walk == Walk::held && table == "outbox_held";
      CHECK((one_row || held || lanes));
    }
  }
}

/// Steps of SQLite's machine that a call takes on a connection.
template <typename Call>
std::int64_t steps_of(sqlite3* db, Call call) {
  std::int64_t steps = 0;
  sqlite3_progress_handler(
      db, 1,
      [](void* counter) {
        ++*static_cast<std::int64_t*>(counter);
        return 0;
      },
      &steps);
  call();
  sqlite3_progress_handler(db, 0, nullptr, nullptr);
  return steps;
}

void add_sent(RelayStore& store, int rows) {
  store.app.run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " + std::to_string(rows) +
                ") INSERT INTO outbox(topic, key, payload) SELECT 'orders', i % 10, 'p' FROM n");
  store.app.run("INSERT OR IGNORE INTO outbox_sent SELECT id, substr(nonce, 1, 8), 1, 0, id, 1 FROM outbox");
  store.app.run("UPDATE outbox_progress SET settled_through = (SELECT max(id) FROM outbox)");
}

/// `keys` keys, each with a row that Kafka refused and two rows behind it.
void add_blocked_keys(RelayStore& store, int keys) {
  store.app.run("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < " +
                std::to_string(3 * keys) +
                ") INSERT INTO outbox(topic, key, payload) SELECT 'orders', 'blocked' || (i / 3), 'p' FROM n LIMIT " +
                std::to_string(3 * keys));
  // Whatever the lanes' numbers are: no two keys have the same.
  store.app.run(
      "INSERT INTO outbox_held(id, nonce, state, lane) SELECT id, substr(nonce, 1, 8), "
      "CASE id % 3 WHEN 1 THEN 'parked' ELSE 'blocked' END, (id - 1) / 3 FROM outbox");
  store.app.run("UPDATE outbox_progress SET settled_through = (SELECT coalesce(max(id), 0) FROM outbox)");
}

/// What a hundred rows of other keys cost beside so many blocked ones, by the relay's statements for them.
std::map<std::string, std::int64_t> cost_beside_blocked_keys(int keys) {
  RelayStore store;
  add_blocked_keys(store, keys);
  const std::int64_t before = 3LL * keys;
  store.add("orders", "free", 100);
  auto& relay = *store.relay;
  std::map<std::string, std::int64_t> steps;
  sqlite3* db = relay.reading.handle();
  // The first of each kind looks at the schema as well.
  relay.read(before, 1);
  relay.read_ready(before);
  store.mark({store.receipt(before + 1)}, {}, before + 1);
  std::vector<txbox::store::Receipt> receipts;
  steps["read"] = steps_of(db, [&] { relay.read(before + 1); });
  for (const txbox::store::OutboxRow& row : relay.batch.rows()) {
    receipts.push_back({.id = row.id, .nonce_prefix = row.nonce_prefix, .partition = 1, .offset = 1, .sent_at_ms = 1});
  }
  CHECK(receipts.size() == 99);
  steps["mark"] = steps_of(relay.writing.handle(), [&] { store.mark(receipts, {}, before + 100); });
  steps["ready rows"] = steps_of(db, [&] { relay.read_ready(before + 100); });
  steps["due rows"] = steps_of(db, [&] { return relay.reader.next_due_ms(); });
  steps["what people did"] = steps_of(db, [&] { return relay.reader.newest_deed(); });
  return steps;
}

}  // namespace

TEST_CASE("no statement of the relay's side walks history, before and after ANALYZE") {
  RelayStore store;
  expect_no_walk(store.app);
  add_sent(store, 3000);
  store.app.run("ANALYZE");
  txbox::test::AppDatabase fresh(store.path);
  expect_no_walk(fresh);
}

TEST_CASE("what an idle relay asks costs the same after two hundred times the history") {
  RelayStore store;
  add_sent(store, 20);
  auto& relay = *store.relay;
  const auto idle = [&](std::int64_t cursor) {
    std::map<std::string, std::int64_t> steps;
    sqlite3* db = relay.reading.handle();
    relay.read(cursor);
    steps["read"] = steps_of(db, [&] { relay.read(cursor); });
    steps["ready"] = steps_of(db, [&] { relay.read_ready(cursor); });
    steps["progress"] = steps_of(db, [&] { return relay.reader.progress(); });
    steps["lanes"] = steps_of(db, [&] { return relay.reader.held_lanes(); });
    steps["due"] = steps_of(db, [&] { return relay.reader.next_due_ms(); });
    steps["topics"] = steps_of(db, [&] { return relay.reader.waiting_topics(); });
    steps["counts"] = steps_of(db, [&] { return txbox::store::count_outbox(db); });
    steps["mark"] = steps_of(relay.writing.handle(), [&] { store.mark({}, {}, cursor); });
    return steps;
  };
  const auto before = idle(20);
  add_sent(store, 4000);
  const auto after = idle(4020);
  for (const auto& [what, steps] : before) {
    CAPTURE(what);
    CHECK(steps < 400);
    CHECK(after.at(what) <= steps + 20);
  }
}

TEST_CASE("a row costs the same number of steps beside a hundred thousand blocked keys") {
  const auto beside_one = cost_beside_blocked_keys(1);
  for (const int keys : {1'000, 100'000}) {
    CAPTURE(keys);
    CHECK(cost_beside_blocked_keys(keys) == beside_one);
  }
  // The end of an empty table takes a few steps less to find, once a statement and not once a row.
  for (const auto& [what, steps] : cost_beside_blocked_keys(0)) {
    CAPTURE(what);
    CHECK(beside_one.at(what) - steps <= 8);
  }
}
