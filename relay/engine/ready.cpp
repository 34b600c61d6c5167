// Passes over the rows of outbox_held that are ready again. Two sources of work, one order (docs/schema.md, I4): such a
// row goes out only when the scan has passed it and nothing earlier of its lane is unresolved; a lane of which one row
// was left in a pass is left for the rest of the pass. A pass is one reading from the lowest id on, never continued by
// a second one: rows below may have become ready in between, and would be overtaken.

#include <algorithm>
#include <iterator>
#include <utility>

#include "relay/engine/core_state.hpp"

namespace txbox::relay {

void Core::State::want_pass(Database& db) {
  db.pass_wanted = true;
  db.pass_not_before = now;
}

void Core::State::on_ready(const event::ReadyRead& event) {
  Database& db = database(event.database);
  db.reading = Reading::none;
  db.reserved_rows = 0;
  if (guard(ProducerKind::main).broken || stopping) {
    want_pass(db);
  } else {
    // The lowest unresolved row of each lane with held rows: no ready row may pass it.
    std::unordered_map<store::Lane, std::int64_t> first_open;
    for (std::size_t index = 0; index < db.window.size() && !event.rows.empty(); ++index) {
      const Slot& slot = db.window.at(index);
      if (slot.has_lane && is_unresolved(slot.state)) first_open.try_emplace(slot.lane, slot.id);
    }
    std::sort(db.done_while_reading.begin(), db.done_while_reading.end());
    bool through = true;
    for (std::size_t index = 0; index < event.rows.size() && through; ++index) {
      through = take_ready(db, event.rows[index], static_cast<std::uint32_t>(index), first_open);
    }
    if (through && event.exhausted) forget_gone_suspects(db);
    if (event.rows.empty()) db.limits_asked.clear();
    db.pass_left_rows = db.pass_left_rows || !through || !event.exhausted;
    if (db.pass_left_rows && !db.pass_wanted) {
      // What the rows that were left wait for ends in a mark; the wait keeps this from turning in circles.
      db.pass_wanted = true;
      db.pass_not_before = now + 2 * options.mark_interval;
    }
  }
  db.done_while_reading.clear();
  db.held_while_reading.clear();
}

/// A suspect that is not ready any more (a person took it back) must not keep its lane on probation.
void Core::State::forget_gone_suspects(Database& db) {
  for (auto next = db.ready_suspects.begin(); next != db.ready_suspects.end();) {
    const auto [id, suspect] = *next;
    const std::optional<store::Lane> lane = suspect.lane;
    const bool gone = !db.pass_suspects.contains(id) && !db.ready.contains(id);
    next = gone ? db.ready_suspects.erase(next) : std::next(next);
    if (gone && suspect.killer) no_longer_killer(false);
    if (!gone || !lane) continue;
    --db.lanes.entry(*lane).suspects;
    check_lane_return(db, *lane);
  }
}

/// Whether the row must be left in this pass, its lane with it.
bool Core::State::ready_must_wait(Database& db, const store::OutboxRow& row,
                                  const std::unordered_map<store::Lane, std::int64_t>& first_open) {
  // In the window it must be known as held: else the scan has not passed it, or it is in flight all the same.
  const Slot* scanned = db.window.find(row.id);
  if (row.id > db.window.last() || (scanned != nullptr && scanned->state != SlotState::held)) return true;
  if (!row.held_lane) return false;
  if (db.pass_skipped.contains(*row.held_lane) || db.held_while_reading.contains(*row.held_lane)) return true;
  const auto open = first_open.find(*row.held_lane);
  return open != first_open.end() && open->second < row.id;
}

/// False: the pass stands before this row.
bool Core::State::take_ready(Database& db, const store::OutboxRow& row, std::uint32_t row_index,
                             const std::unordered_map<store::Lane, std::int64_t>& first_open) {
  const auto leave = [&] {
    db.pass_left_rows = true;
    if (row.held_lane) db.pass_skipped.insert(*row.held_lane);
    return true;
  };
  const auto known = db.ready.find(row.id);
  if (known != db.ready.end()) {
    const bool held_again =
        known->second.state == SlotState::hold_pending || known->second.state == SlotState::hold_marking;
    return held_again ? leave() : true;
  }
  if (db.ready_suspects.contains(row.id)) db.pass_suspects.insert(row.id);
  const auto& done = db.done_while_reading;
  if (row.sent || std::binary_search(done.begin(), done.end(), row.id)) return true;
  if (ready_must_wait(db, row, first_open)) return leave();
  if (!row_fits(db)) return false;
  Slot slot = make_slot(row);
  if (const auto found = db.ready_suspects.find(row.id); found != db.ready_suspects.end()) {
    slot.suspect = true;
    slot.killer = found->second.killer;
  }
  Decision decision = decide(db, row, slot, {.from_held = true, .is_new = true});
  if (decision.verdict == Verdict::stop) {
    db.pass_stall = decision.stall;
    want_pass(db);
    return false;
  }
  if (decision.verdict == Verdict::defer) return leave();
  Slot& kept = db.ready.emplace(row.id, slot).first->second;
  ++db.open_rows;
  if (decision.verdict == Verdict::produce) {
    hand_over(db, kept, decision, row_index);
    return true;
  }
  hold(db, kept, decision.held, decision.due_at_ms, std::move(decision.reason));
  return leave();
}

}  // namespace txbox::relay
