#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <txbox/store/outbox_queries.hpp>
#include <txbox/store/outbox_tools.hpp>
#include <txbox/store/store_home.hpp>

#include "support/expect_error.hpp"
#include "support/relay_store.hpp"

using txbox::ErrorCode;
using txbox::store::apply_tool;
using txbox::store::Connection;
using txbox::store::HeldState;
using txbox::store::HomeVerdict;
using txbox::store::lane_of;
using txbox::store::ToolAction;
using txbox::store::ToolOutcome;
using txbox::test::code_of;
using txbox::test::RelayStore;

namespace {

struct Person {
  explicit Person(RelayStore& store) : connection(Connection::open(store.path, {})) {}
  ToolOutcome does(ToolAction action, std::int64_t id) {
    const std::int64_t ids[] = {id};
    return apply_tool(connection, action, ids, {.who = "alice", .why = "ticket 7"}).at(0);
  }
  Connection connection;
};

}  // namespace

TEST_CASE("park holds a row back with its lane, and leaves a line of audit") {
  RelayStore store;
  Person person(store);
  store.add("orders", "k", 2);
  store.app.run("INSERT INTO outbox(topic, payload) VALUES ('orders', 'no key')");
  CHECK(person.does(ToolAction::park, 1) == ToolOutcome::done);
  CHECK(store.state_of(1) == "parked");
  CHECK(store.relay->read(0).at(0).held_lane == lane_of("orders", std::nullopt, "k"));
  CHECK(person.does(ToolAction::park, 3) == ToolOutcome::done);
  CHECK_FALSE(store.relay->read(0).at(2).held_lane.has_value());
  CHECK(person.does(ToolAction::park, 1) == ToolOutcome::already_so);
  CHECK(person.does(ToolAction::park, 9) == ToolOutcome::not_found);
  CHECK(store.app.number("SELECT count(*) FROM txbox_audit") == 2);
  CHECK(store.app.text("SELECT who || ' ' || action || ' ' || detail FROM txbox_audit WHERE id = 1") ==
        "alice park was not held; ticket 7");
  CHECK(store.app.text("SELECT event_id FROM txbox_audit WHERE id = 1") ==
        store.app.text("SELECT event_id FROM outbox_status WHERE id = 1"));
}

TEST_CASE("rows that were ready behind a row parked by hand are blocked, and follow it when it is retried") {
  RelayStore store;
  Person person(store);
  store.add("orders", "k", 4);
  store.add("orders", "other", 1);
  using enum HeldState;
  store.mark(
      {},
      {store.hold(1, ready), store.hold(2, ready), store.hold(3, ready), store.hold(4, parked), store.hold(5, ready)},
      5);
  CHECK(person.does(ToolAction::park, 2) == ToolOutcome::done);
  CHECK(store.state_of(1) == "ready");
  CHECK(store.state_of(3) == "blocked");
  CHECK(store.state_of(4) == "parked");
  CHECK(store.state_of(5) == "ready");
  CHECK(txbox::store::count_outbox(store.app).ready == 2);
  CHECK(person.does(ToolAction::retry, 2) == ToolOutcome::done);
  CHECK(store.state_of(2) == "ready");
  CHECK(store.relay->marker.release_lane(*store.hold(1, ready).lane, 100) == 1);
  CHECK(store.state_of(3) == "ready");
}

TEST_CASE("retry makes a parked row ready in its lane, and says so on the row") {
  RelayStore store;
  Person person(store);
  store.add("orders", "k", 2);
  store.mark({}, {store.hold(1, HeldState::parked), store.hold(2, HeldState::blocked)}, 2);
  CHECK(person.does(ToolAction::retry, 1) == ToolOutcome::done);
  const auto& rows = store.relay->read_ready(2);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].id == 1);
  CHECK(rows[0].redriven);
  CHECK(rows[0].held_lane.has_value());
  CHECK(person.does(ToolAction::retry, 1) == ToolOutcome::not_held_back);
  CHECK(person.does(ToolAction::retry, 2) == ToolOutcome::not_held_back);
}

TEST_CASE("a retried row that stands behind another of its key waits for that") {
  RelayStore store;
  Person person(store);
  store.add("orders", "k", 3);
  store.mark({}, {store.hold(1, HeldState::parked), store.hold(2, HeldState::parked)}, 2);
  store.mark({}, {store.hold(3, HeldState::parked)}, 3);
  CHECK(person.does(ToolAction::retry, 3) == ToolOutcome::done);
  CHECK(store.state_of(3) == "blocked");
  CHECK(person.does(ToolAction::retry, 1) == ToolOutcome::done);
  CHECK(store.state_of(1) == "ready");
  CHECK(person.does(ToolAction::skip, 2) == ToolOutcome::done);
  CHECK(store.relay->marker.release_lane(lane_of("orders", std::nullopt, "k"), 10) == 1);
  const auto& rows = store.relay->read_ready(3);
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].id == 3);
  CHECK(rows[1].redriven);
}

TEST_CASE("retry of a skipped row gives it no lane, because its key has gone on") {
  RelayStore store;
  Person person(store);
  store.add("orders", "k", 2);
  CHECK(person.does(ToolAction::skip, 1) == ToolOutcome::done);
  CHECK(store.state_of(1) == "skipped");
  CHECK(person.does(ToolAction::skip, 1) == ToolOutcome::already_so);
  CHECK(person.does(ToolAction::park, 1) == ToolOutcome::is_skipped);
  CHECK(person.does(ToolAction::retry, 1) == ToolOutcome::done);
  const auto& rows = store.relay->read_ready(2);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].redriven);
  CHECK_FALSE(rows[0].held_lane.has_value());
}

TEST_CASE("what is sent cannot be parked, retried or skipped") {
  RelayStore store;
  Person person(store);
  store.add();
  store.mark({store.receipt(1)}, {}, 1);
  for (const ToolAction action : {ToolAction::park, ToolAction::retry, ToolAction::skip}) {
    CHECK(person.does(action, 1) == ToolOutcome::already_sent);
  }
  CHECK(store.app.number("SELECT count(*) FROM outbox_held") == 0);
  CHECK(store.app.number("SELECT count(*) FROM txbox_audit") == 0);
}

TEST_CASE("a row parked while it was in flight is sent when Kafka acknowledges it") {
  RelayStore store;
  Person person(store);
  store.add();
  const auto receipt = store.receipt(1);
  CHECK(person.does(ToolAction::park, 1) == ToolOutcome::done);
  store.mark({receipt}, {}, 1);
  CHECK(store.state_of(1) == "sent");
  CHECK(person.does(ToolAction::skip, 1) == ToolOutcome::already_sent);
}

TEST_CASE("several rows are changed in one transaction or not at all") {
  RelayStore store;
  Person person(store);
  store.add("orders", "k", 3);
  store.app.run("INSERT INTO outbox_sent VALUES (3, x'0000000000000001', 1, 0, 5, 1)");
  const std::int64_t ids[] = {1, 2, 3};
  CHECK(code_of([&] { apply_tool(person.connection, ToolAction::park, ids, {.who = "a", .why = ""}); }) ==
        ErrorCode::restored);
  CHECK(store.app.number("SELECT count(*) FROM outbox_held") == 0);
  const auto outcomes =
      apply_tool(person.connection, ToolAction::park, std::span(ids).first(2), {.who = "a", .why = ""});
  CHECK(outcomes == std::vector{ToolOutcome::done, ToolOutcome::done});
}

TEST_CASE("a row that left the state it was chosen by is not touched") {
  RelayStore store;
  Person person(store);
  store.add("orders", "k", 4);
  store.mark({}, {store.hold(2, HeldState::parked), store.hold(3, HeldState::ready)}, 3);
  const std::int64_t ids[] = {1, 2, 3, 4};
  const auto on = [&](ToolAction action, const std::vector<HeldState>& from) {
    return apply_tool(person.connection, action, ids, {.who = "a", .why = ""}, from);
  };
  const auto left = ToolOutcome::changed_since;
  const auto done = ToolOutcome::done;
  CHECK(on(ToolAction::skip, {HeldState::blocked, HeldState::waiting}) == std::vector{left, left, left, left});
  CHECK(store.app.number("SELECT count(*) FROM txbox_audit") == 0);
  CHECK(on(ToolAction::skip, {HeldState::parked}) == std::vector{left, done, left, left});
  // Whether a row without a note is due only the clock knows.
  CHECK(on(ToolAction::park, {HeldState::scheduled}) == std::vector{done, left, done, done});
  CHECK(store.state_of(2) == "skipped");
}

TEST_CASE("rows of one key that were chosen as ready are all parked, though the first one blocks the others") {
  RelayStore store;
  Person person(store);
  store.add("orders", "k", 3);
  store.mark({}, {store.hold(1, HeldState::ready), store.hold(2, HeldState::ready), store.hold(3, HeldState::ready)},
             3);
  const std::int64_t ids[] = {1, 2, 3};
  const HeldState ready[] = {HeldState::ready};
  const auto outcomes = apply_tool(person.connection, ToolAction::park, ids, {.who = "a", .why = ""}, ready);
  CHECK(outcomes == std::vector(3, ToolOutcome::done));
  CHECK(store.state_of(3) == "parked");
}

TEST_CASE("rows that were chosen as blocked are parked as well") {
  RelayStore store;
  Person person(store);
  store.add("orders", "k", 2);
  store.mark({}, {store.hold(1, HeldState::parked), store.hold(2, HeldState::blocked)}, 2);
  const std::int64_t ids[] = {2};
  const HeldState blocked[] = {HeldState::blocked};
  const auto outcomes = apply_tool(person.connection, ToolAction::park, ids, {.who = "a", .why = ""}, blocked);
  CHECK(outcomes == std::vector{ToolOutcome::done});
}

TEST_CASE("what an action would answer is known from the state alone") {
  using txbox::store::foresee_tool;
  for (const char* state : {"ready", "scheduled", "blocked", "waiting"}) {
    CHECK(foresee_tool(ToolAction::park, state) == ToolOutcome::done);
    CHECK(foresee_tool(ToolAction::skip, state) == ToolOutcome::done);
    CHECK(foresee_tool(ToolAction::retry, state) == ToolOutcome::not_held_back);
  }
  CHECK(foresee_tool(ToolAction::park, "parked") == ToolOutcome::already_so);
  CHECK(foresee_tool(ToolAction::park, "skipped") == ToolOutcome::is_skipped);
  CHECK(foresee_tool(ToolAction::skip, "skipped") == ToolOutcome::already_so);
  CHECK(foresee_tool(ToolAction::retry, "skipped") == ToolOutcome::done);
  CHECK(foresee_tool(ToolAction::skip, "sent") == ToolOutcome::already_sent);
}

TEST_CASE("what was done to no row in particular has its line of audit") {
  RelayStore store;
  Person person(store);
  txbox::store::audit_deed(person.connection, "prune", "3 rows", {.who = "alice", .why = "disk"});
  txbox::store::audit_deed(person.connection, "prune", "4 rows", {.who = "alice", .why = ""});
  CHECK(store.app.text("SELECT group_concat(who || ' ' || action || ' ' || detail, ' | ') FROM txbox_audit") ==
        "alice prune 3 rows; disk | alice prune 4 rows");
  CHECK(store.app.number("SELECT count(*) FROM txbox_audit WHERE event_id IS NULL") == 2);
}

TEST_CASE("adopt takes away what belongs to other rows and begins a new incarnation") {
  RelayStore store;
  Person person(store);
  store.add("orders", "k", 5);
  store.mark({store.receipt(1), store.receipt(2), store.receipt(3)}, {store.hold(4, HeldState::parked)}, 4);
  store.app.run("UPDATE outbox_sent SET nonce = x'0000000000000001' WHERE id = 2");
  store.app.run("UPDATE outbox_progress SET settled_through = 9");
  CHECK(code_of([&] { store.relay->read(0); }) == ErrorCode::restored);
  const auto result = txbox::store::adopt_store(person.connection, {.who = "alice", .why = "restored from backup"});
  CHECK(result.incarnation == 2);
  CHECK(result.foreign_receipts == 1);
  CHECK(result.foreign_held == 0);
  CHECK(result.settled_through == 1);
  CHECK(txbox::store::read_identity(store.app).incarnation == 2);
  CHECK(store.app.text("SELECT action || ' ' || detail FROM txbox_audit") ==
        "adopt incarnation 2, settled through 1; restored from backup");
  txbox::test::RelaySide relay(store.path);
  CHECK(relay.read(1).size() == 4);
  CHECK_FALSE(relay.batch.rows()[0].sent);
  const auto counts = txbox::store::count_outbox(store.app);
  CHECK(counts.sent == 2);
  CHECK(counts.ready == 2);
  CHECK(counts.parked == 1);
}

TEST_CASE("a file's home is recorded at its first run, carried by a copy, and forgotten by adopt") {
  RelayStore store;
  Person person(store);
  const txbox::store::FileIdentity home{.device = 1, .inode = 2, .machine_id = "m"};
  CHECK(check_home(person.connection, home) == HomeVerdict::first_run);
  CHECK(check_home(person.connection, home) == HomeVerdict::same);
  CHECK(check_home(person.connection, {.device = 1, .inode = 8, .machine_id = "n"}) == HomeVerdict::same);
  CHECK(check_home(person.connection, {.device = 2, .inode = 1, .machine_id = "n"}) == HomeVerdict::copied);
  CHECK(check_home(person.connection, {.device = 2, .inode = 1, .machine_id = ""}) == HomeVerdict::copied);
  txbox::store::adopt_store(person.connection, {.who = "a", .why = ""});
  CHECK(check_home(person.connection, {.device = 2, .inode = 1, .machine_id = "n"}) == HomeVerdict::first_run);
}
