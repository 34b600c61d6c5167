// Retention against files that no relay would leave behind, with limits that nobody would set: whatever it is told, it
// deletes nothing but rows whose receipt says that they are sent, and skipped ones, and never the newest.

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include <txbox/base/error.hpp>
#include <txbox/base/random.hpp>
#include <txbox/store/outbox_prune.hpp>
#include <txbox/store/outbox_tools.hpp>
#include <txbox/store/statement.hpp>

#include "support/relay_store.hpp"

using txbox::SeededRandom;
using txbox::store::OutboxPruner;
using txbox::store::PruneLimits;
using txbox::store::Statement;
using txbox::test::RelayStore;

namespace {

constexpr std::int64_t kWritten = 1'700'000'000'000;
constexpr const char* kStates[] = {"parked", "blocked", "scheduled", "waiting", "ready", "skipped"};

/// A row as the test wrote it.
struct Fate {
  std::string held;          ///< Its state in outbox_held, or empty.
  bool has_receipt = false;  ///< Of this very row.
  bool foreign = false;      ///< A note of another row stands under its id.
};

std::int64_t odd_time(SeededRandom& random) {
  constexpr std::int64_t kTimes[] = {-1,
                                     0,
                                     1,
                                     kWritten - 1,
                                     kWritten,
                                     kWritten + 1,
                                     4'000'000'000'000,
                                     std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::int64_t>::min()};
  return random.below(3) == 0 ? kTimes[random.below(9)] : kWritten + static_cast<std::int64_t>(random.below(100)) - 50;
}

/// Rows in every state beside each other, with receipts of any time; rarely one that contradicts itself.
std::map<std::int64_t, Fate> fill(RelayStore& store, SeededRandom& random) {
  std::map<std::int64_t, Fate> fates;
  const auto rows = static_cast<std::int64_t>(1 + random.below(40));
  const bool contradictions = random.below(4) == 0;
  for (std::int64_t id = 1; id <= rows; ++id) {
    store.app.run("INSERT INTO outbox(topic, key, payload, created_at) VALUES ('t', 'k', 'p', " +
                  std::to_string(kWritten) + ")");
    const std::string row = " FROM outbox WHERE id = " + std::to_string(id);
    Fate& fate = fates[id];
    const std::uint64_t choice = random.below(10);
    if (choice < 5 || (contradictions && choice < 6)) {
      const bool wrong = contradictions && random.below(10) == 0;
      const std::string nonce = wrong ? "x'00000000000000ff'" : "substr(nonce, 1, 8)";
      store.app.run("INSERT INTO outbox_sent SELECT id, " + nonce + ", 1, 0, id, " + std::to_string(odd_time(random)) +
                    row);
      fate.has_receipt = !wrong;
      fate.foreign = wrong;
    }
    if ((choice >= 5 && choice < 9) || (contradictions && random.below(8) == 0)) {
      fate.held = kStates[random.below(6)];
      const bool wrong = contradictions && random.below(10) == 0;
      const std::string nonce = wrong ? "x'00000000000000ff'" : "substr(nonce, 1, 8)";
      store.app.run("INSERT INTO outbox_held(id, nonce, state, lane, due_at) SELECT id, " + nonce + ", '" + fate.held +
                    "', 7, " + std::to_string(odd_time(random)) + row);
      fate.foreign = fate.foreign || wrong;
    }
  }
  // What is settled ends before the first row without a note, unless the file lies about that as well.
  std::int64_t settled = 0;
  while (settled < rows && (fates[settled + 1].has_receipt || !fates[settled + 1].held.empty())) ++settled;
  if (contradictions) settled = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(rows) + 1));
  store.app.run("UPDATE outbox_progress SET settled_through = " + std::to_string(settled));
  // Gaps that nobody explains, with their notes left behind; the relay's connection has no triggers.
  for (std::int64_t id = 1; contradictions && id < rows; ++id) {
    if (random.below(12) != 0) continue;
    const std::string gap = "DELETE FROM outbox WHERE id = " + std::to_string(id);
    txbox::store::execute(store.relay->writing.handle(), gap.c_str());
    fates.erase(id);
  }
  return fates;
}

std::map<std::int64_t, std::string> contents(RelayStore& store) {
  std::map<std::int64_t, std::string> rows;
  Statement all(store.app, "SELECT id, quote(nonce) || topic || key || payload || created_at FROM outbox");
  while (all.step()) rows[all.column_int64(0)] = all.column_text(1);
  return rows;
}

/// What is gone, and why it may not be; empty when all is well.
std::string wrongly_gone(const std::map<std::int64_t, Fate>& fates, const std::map<std::int64_t, std::string>& before,
                         const std::map<std::int64_t, std::string>& after, std::int64_t settled_through) {
  for (const auto& [id, row] : before) {
    const auto left = after.find(id);
    if (left != after.end()) {
      if (left->second != row) return "row " + std::to_string(id) + " was changed";
      continue;
    }
    const Fate& fate = fates.at(id);
    const bool sent = fate.has_receipt && fate.held.empty();
    const bool skipped = !fate.has_receipt && fate.held == "skipped";
    if (id == before.rbegin()->first) return "the newest row is gone";
    if (id > settled_through) return "row " + std::to_string(id) + " is gone and was not settled";
    if (fate.foreign) return "row " + std::to_string(id) + " is gone on the word of another row";
    if (!sent && !skipped) return "row " + std::to_string(id) + " is gone and was not sent";
  }
  return {};
}

}  // namespace

TEST_CASE("whatever retention is told, and whatever the file claims, nothing unsent is deleted") {
  std::int64_t deleted = 0;
  std::int64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= RETENTION_ATTACKS; ++seed) {
    CAPTURE(seed);
    SeededRandom random(seed);
    RelayStore store;
    store.app.run("PRAGMA synchronous=OFF");
    auto fates = fill(store, random);
    const auto before = contents(store);
    const std::int64_t settled = store.app.number("SELECT settled_through FROM outbox_progress");
    auto tool = txbox::store::Connection::open(store.path, {});
    OutboxPruner pruner(store.relay->writing);
    for (int step = 0; step < 30; ++step) {
      // Each step with other limits, as if the clock jumped between them; a person takes skipped rows back meanwhile.
      const PruneLimits limits{.sent_before_ms = odd_time(random),
                               .skipped_before_ms = odd_time(random),
                               .rows = static_cast<std::int64_t>(random.below(8))};
      try {
        deleted += pruner.step(limits).deleted;
      } catch (const txbox::Error& error) {
        CHECK(error.code() == txbox::ErrorCode::restored);
        ++refused;
        break;
      }
      const std::int64_t one[] = {1 + static_cast<std::int64_t>(random.below(before.size()))};
      if (!fates.contains(one[0])) continue;
      Fate& fate = fates.at(one[0]);
      if (fate.held != "skipped" || fate.has_receipt || fate.foreign || !contents(store).contains(one[0])) continue;
      const auto outcome =
          txbox::store::apply_tool(tool, txbox::store::ToolAction::retry, one, {.who = "person", .why = ""}).at(0);
      if (outcome == txbox::store::ToolOutcome::done) fate.held = "ready";
    }
    REQUIRE(wrongly_gone(fates, before, contents(store), settled) == "");
    const auto left = contents(store);
    // What is gone left nothing behind, and what stays kept its note.
    for (const auto& [id, row] : before) {
      if (left.contains(id)) continue;
      CHECK(store.app.number("SELECT count(*) FROM outbox_sent WHERE id = " + std::to_string(id)) == 0);
      CHECK(store.app.number("SELECT count(*) FROM outbox_held WHERE id = " + std::to_string(id)) == 0);
    }
    for (const auto& [id, fate] : fates) {
      if (!left.contains(id)) continue;
      const std::string which = " WHERE id = " + std::to_string(id);
      CHECK(store.app.text("SELECT state FROM outbox_held" + which).value_or("") == fate.held);
      if (fate.has_receipt) CHECK(store.app.number("SELECT count(*) FROM outbox_sent" + which) == 1);
    }
  }
  // It was tried in earnest.
  CHECK(deleted > RETENTION_ATTACKS);
  CHECK(refused > 0);
}
