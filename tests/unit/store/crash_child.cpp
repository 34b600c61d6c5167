// The process that marking_crash_test.cpp and inbox_crash_test.cpp kill: `crash_child FILE ACTION` does one thing to
// all rows of the file, or what a consumer does with one message.
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <txbox/base/error.hpp>
#include <txbox/store/outbox_prune.hpp>
#include <txbox/store/outbox_tools.hpp>

#include "support/inbox_database.hpp"
#include "support/relay_store.hpp"

namespace {

using txbox::store::HeldState;

void mark(txbox::test::RelaySide& relay) {
  std::vector<txbox::store::Receipt> receipts;
  std::vector<txbox::store::Hold> holds;
  for (const auto& row : relay.read(0)) {
    if (row.id % 2 == 0) {
      receipts.push_back(
          {.id = row.id, .nonce_prefix = row.nonce_prefix, .partition = 0, .offset = 1, .sent_at_ms = 1});
      continue;
    }
    txbox::store::Hold wish;
    wish.id = row.id;
    wish.nonce_prefix = row.nonce_prefix;
    wish.state = HeldState::scheduled;
    wish.due_at_ms = 1;
    holds.push_back(wish);
  }
  const std::int64_t newest = relay.batch.rows().back().id;
  relay.marker.mark({.receipts = receipts, .holds = holds, .settled_through = newest, .lanes = {}});
}

/// The message at the position is applied, the one behind it parked; a third one is begun.
void consume(txbox::store::InboxStore& inbox, sqlite3* db, const txbox::store::InboxPlace& place) {
  const std::int64_t next = inbox.position(place).value().next_offset;
  inbox.begin();
  inbox.savepoint();
  const auto claim = inbox.claim("applied", {.place = place, .offset = next});
  if (claim == txbox::store::InboxClaim::first) txbox::store::execute(db, "INSERT INTO effect VALUES ('applied')");
  inbox.release();
  inbox.claim_parked("parked", {.place = place, .offset = next + 1});
  inbox.park_message({.place = place,
                      .offset = next + 1,
                      .event_id = "parked",
                      .key = {},
                      .payload = {},
                      .headers = {},
                      .timestamp_ms = 1,
                      .attempts = 5,
                      .reason = "r"});
  inbox.record_started(place, next + 2);
  if (!inbox.advance(place, next, next + 2)) throw std::runtime_error("the position is another's");
  inbox.commit();
}

void act_as_consumer(const std::string& path, const std::string& action) {
  txbox::test::InboxSide side(path);
  const txbox::store::InboxPlace place{"orders", 3};
  if (action == "take") {
    side.take(place, 10);
  } else if (action == "consume") {
    consume(side.inbox, side.connection.handle(), place);
  } else {
    const auto position = side.inbox.position(place).value();
    const txbox::store::InboxStore::GiveUp wish{.place = place,
                                                .expected_next = position.next_offset,
                                                .assignment = position.assignment,
                                                .not_tried = position.next_offset};
    side.inbox.give_up({&wish, 1});
  }
}

void act(const std::string& path, const std::string& action) {
  if (action == "take" || action == "consume" || action == "give up") return act_as_consumer(path, action);
  txbox::test::RelaySide relay(path);
  if (action == "mark") return mark(relay);
  if (action == "release") {
    relay.marker.release_due(1, 1000);
    return;
  }
  if (action == "prune") {
    txbox::store::OutboxPruner pruner(relay.writing);
    pruner.step({.sent_before_ms = 2});
    return;
  }
  auto person = txbox::store::Connection::open(path, {});
  if (action == "adopt") {
    txbox::store::adopt_store(person, {.who = "test", .why = ""});
    return;
  }
  const std::int64_t ids[] = {1, 3};
  txbox::store::apply_tool(person, txbox::store::ToolAction::park, ids, {.who = "test", .why = ""});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    act(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
