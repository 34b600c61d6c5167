#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <txbox/store/outbox_queries.hpp>

#include "support/relay_store.hpp"

using txbox::Bytes;
using txbox::store::count_outbox;
using txbox::store::find_outbox_row;
using txbox::store::HeldState;
using txbox::store::list_outbox;
using txbox::store::RowFilter;
using txbox::store::StatusRow;
using txbox::test::RelayStore;

namespace {

std::vector<StatusRow> listed(RelayStore& store, const RowFilter& filter) {
  std::vector<StatusRow> rows;
  list_outbox(store.app, filter, [&](const StatusRow& row) {
    CHECK_FALSE(store.app.any_statement_busy());
    CHECK(sqlite3_txn_state(store.app, nullptr) == SQLITE_TXN_NONE);
    rows.push_back(row);
  });
  return rows;
}

std::vector<std::int64_t> listed_ids(RelayStore& store, const RowFilter& filter) {
  std::vector<std::int64_t> ids;
  for (const StatusRow& row : listed(store, filter)) ids.push_back(row.id);
  return ids;
}

RowFilter with_state(const std::string& state) {
  RowFilter filter;
  filter.state = state;
  return filter;
}

using Ids = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("counts agree with the view, state by state, with rows settled, above and later") {
  RelayStore store;
  store.add("orders", "k", 8);
  store.app.run("INSERT INTO outbox(topic, deliver_at) VALUES ('orders', 4000000000000)");
  store.app.run("INSERT INTO outbox(topic, deliver_at) VALUES ('orders', 1600000000000)");
  store.app.run("INSERT INTO outbox(topic, deliver_at) VALUES ('orders', 4000000000000)");
  auto scheduled = store.hold(11, HeldState::scheduled);
  scheduled.due_at_ms = 4000000000000;
  store.mark({store.receipt(1), store.receipt(6)},
             {store.hold(2, HeldState::parked), store.hold(3, HeldState::blocked), store.hold(4, HeldState::skipped),
              store.hold(5, HeldState::waiting), store.hold(8, HeldState::ready), scheduled},
             3);
  const auto counts = count_outbox(store.app);
  CHECK(counts.sent == 2);
  CHECK(counts.parked == 1);
  CHECK(counts.blocked == 1);
  CHECK(counts.skipped == 1);
  CHECK(counts.waiting == 1);
  CHECK(counts.ready == 3);      // 7 and 10 unseen, 8 held ready.
  CHECK(counts.scheduled == 2);  // 9 unseen, 11 held.
  CHECK(counts.blocked_keys == 1);
  CHECK(counts.newest_id == 11);
  CHECK(counts.settled_through == 3);
  CHECK(store.app.number("SELECT count(*) FROM outbox_status WHERE state = 'ready'") == 3);
  CHECK(store.app.number("SELECT count(*) FROM outbox_status WHERE state = 'scheduled'") == 2);
}

TEST_CASE("an empty outbox counts nothing and has no oldest row") {
  RelayStore store;
  const auto counts = count_outbox(store.app);
  CHECK(counts.ready == 0);
  CHECK(counts.sent == 0);
  CHECK_FALSE(counts.oldest_ready_created_at_ms.has_value());
}

TEST_CASE("the oldest ready row is the first that could be published now") {
  RelayStore store;
  const auto add_at = [&](const char* created, const char* deliver) {
    store.app.run(std::string("INSERT INTO outbox(topic, created_at, deliver_at) VALUES ('t', ") + created + ", " +
                  deliver + ")");
  };
  add_at("1600000000000", "4000000000000");
  CHECK_FALSE(count_outbox(store.app).oldest_ready_created_at_ms.has_value());
  add_at("1600000000005", "NULL");
  CHECK(count_outbox(store.app).oldest_ready_created_at_ms == 1600000000005);
  // It was not ready before it was due.
  add_at("1500000000000", "1600000000003");
  store.mark({}, {store.hold(3, HeldState::ready)});
  CHECK(count_outbox(store.app).oldest_ready_created_at_ms == 1600000000003);
  store.mark({store.receipt(3)});
  store.mark({store.receipt(2)}, {store.hold(1, HeldState::parked)}, 3);
  CHECK_FALSE(count_outbox(store.app).oldest_ready_created_at_ms.has_value());
}

TEST_CASE("rows are listed by state, topic and key bytes, the newest in commit order") {
  RelayStore store;
  store.add("orders", "k", 3);
  store.add("bills", "k", 1);
  store.app.run("INSERT INTO outbox(topic, key) VALUES ('bills', CAST('k' AS BLOB))");
  store.app.run("INSERT INTO outbox(topic, key, deliver_at) VALUES ('bills', NULL, 4000000000000)");
  store.mark({store.receipt(1)}, {store.hold(2, HeldState::parked)}, 2);
  CHECK(listed_ids(store, {}) == Ids{1, 2, 3, 4, 5, 6});
  RowFilter newest;
  newest.limit = 2;
  CHECK(listed_ids(store, newest) == Ids{5, 6});
  CHECK(listed_ids(store, with_state("sent")) == Ids{1});
  CHECK(listed_ids(store, with_state("parked")) == Ids{2});
  CHECK(listed_ids(store, with_state("ready")) == Ids{3, 4, 5});
  CHECK(listed_ids(store, with_state("scheduled")) == Ids{6});
  CHECK(listed_ids(store, with_state("blocked")).empty());
  CHECK(listed_ids(store, with_state("nonsense")).empty());
  RowFilter filter;
  filter.topic = "bills";
  CHECK(listed_ids(store, filter) == Ids{4, 5, 6});
  filter.key = "k";
  CHECK(listed_ids(store, filter) == Ids{4, 5});
  filter.key = "' OR 1";
  CHECK(listed_ids(store, filter).empty());
}

TEST_CASE("all rows of some states are chosen, oldest first, each once") {
  RelayStore store;
  store.add("orders", "k", 300);
  store.add("bills", "k", 2);
  store.app.run("INSERT INTO outbox(topic, key, deliver_at) VALUES ('bills', CAST('b' AS BLOB), 4000000000000)");
  store.mark({store.receipt(1)}, {store.hold(2, HeldState::parked), store.hold(3, HeldState::blocked)}, 3);
  const auto chosen = [&](const txbox::store::RowChoice& choice) {
    const Ids ids = txbox::store::choose_outbox_rows(store.app, choice);
    CHECK_FALSE(store.app.any_statement_busy());
    CHECK(sqlite3_txn_state(store.app, nullptr) == SQLITE_TXN_NONE);
    return ids;
  };
  CHECK(chosen({.states = {"blocked", "parked"}, .topic = {}, .key = {}}) == Ids{2, 3});
  CHECK(chosen({.states = {"ready"}, .topic = {}, .key = {}}).size() == 299);
  CHECK(chosen({.states = {"scheduled", "ready"}, .topic = "bills", .key = {}}) == Ids{301, 302, 303});
  CHECK(chosen({.states = {"scheduled", "ready"}, .topic = "bills", .key = "b"}) == Ids{303});
  CHECK(chosen({.states = {"waiting"}, .topic = {}, .key = {}}).empty());
  CHECK(chosen({.states = {}, .topic = {}, .key = {}}).empty());
}

TEST_CASE("rows are listed by their ids in the order given, and one that is gone is passed over") {
  RelayStore store;
  store.add("orders", "k", 3);
  Ids listed;
  const Ids ids{3, 9, 1};
  txbox::store::list_outbox_rows(store.app, ids, false, [&](const StatusRow& row) { listed.push_back(row.id); });
  CHECK(listed == Ids{3, 1});
}

TEST_CASE("a listed row says what the view says, and its payload only when asked for") {
  RelayStore store;
  store.app.run(
      "INSERT INTO outbox(topic, key, payload, headers, partition) VALUES ('t', '', x'00', '{\"a\":\"b\"}', 3)");
  auto parked = store.hold(1, HeldState::parked);
  parked.last_error = "MSG_SIZE_TOO_LARGE: too large";
  parked.attempts = 2;
  store.mark({}, {parked}, 1);
  RowFilter filter;
  StatusRow row = listed(store, filter).at(0);
  CHECK(row.event_id == store.app.text("SELECT event_id FROM outbox_status"));
  CHECK(row.key == Bytes(""));
  CHECK(row.state == "parked");
  CHECK(row.attempts == 2);
  CHECK(row.last_error == "MSG_SIZE_TOO_LARGE: too large");
  CHECK(row.partition == 3);
  CHECK_FALSE(row.offset.has_value());
  CHECK_FALSE(row.sent_at_ms.has_value());
  CHECK(row.payload.is_null());
  filter.with_payload = true;
  row = listed(store, filter).at(0);
  CHECK(row.payload == Bytes(std::string_view("\0", 1)));
  CHECK(row.headers == Bytes("{\"a\":\"b\"}"));
}

TEST_CASE("an event is found by the id it was given and by the id made for it") {
  RelayStore store;
  store.app.run("INSERT INTO outbox(topic, event_id, payload) VALUES ('t', 'order-1', 'p')");
  store.add("orders", "k", 300);
  const auto given = find_outbox_row(store.app, "order-1");
  REQUIRE(given.has_value());
  CHECK(given->id == 1);
  CHECK(given->payload == Bytes("p"));
  for (const std::int64_t id : {2, 150, 301}) {
    const auto made = store.app.text("SELECT event_id FROM outbox_status WHERE id = " + std::to_string(id));
    REQUIRE(made.has_value());
    const auto found = find_outbox_row(store.app, *made);
    REQUIRE(found.has_value());
    CHECK(found->id == id);
  }
  CHECK_FALSE(find_outbox_row(store.app, "no-such").has_value());
  CHECK_FALSE(find_outbox_row(store.app, "018bcfe5-6800-7000-8000-000000000000").has_value());
  CHECK_FALSE(store.app.any_statement_busy());
}

TEST_CASE("an event whose time does not fit its place is found all the same") {
  RelayStore store;
  store.add("orders", "k", 20);
  store.app.run("INSERT INTO outbox(topic, created_at) VALUES ('t', 1500000000000)");
  store.add("orders", "k", 20);
  const auto made = store.app.text("SELECT event_id FROM outbox_status WHERE id = 21");
  const auto found = find_outbox_row(store.app, made.value_or(""));
  REQUIRE(found.has_value());
  CHECK(found->id == 21);
}
