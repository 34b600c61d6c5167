// The process that marking_crash_test.cpp kills: `crash_child FILE ACTION` does one thing to all rows of the file.
#include <iostream>
#include <string>
#include <vector>

#include <txbox/base/error.hpp>
#include <txbox/store/outbox_prune.hpp>
#include <txbox/store/outbox_tools.hpp>

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

void act(const std::string& path, const std::string& action) {
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
