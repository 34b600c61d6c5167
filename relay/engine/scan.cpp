// The scan: rows above the cursor, in id order, become Produce commands or holds.

#include <utility>

#include "relay/engine/core_state.hpp"

namespace txbox::relay {

namespace {
/// Slots behind a row that is stuck (its partition has no leader) are kept until it is through; so many times
/// window_rows of them at most.
constexpr std::int64_t kWindowSpan = 4;
}  // namespace

void Core::State::on_rows(const event::RowsRead& event) {
  Database& db = database(event.database);
  db.reading = Reading::none;
  db.reserved_rows = 0;
  const bool missed_wake = std::exchange(db.woken, false);
  // The answer of a reading that began before the cursor went back (or before the producer broke) would let
  // successors go first.
  if (event.after != db.cursor || guard(ProducerKind::main).broken || stopping) {
    db.exhausted = false;
    return;
  }
  bool through = true;
  for (std::size_t index = 0; index < event.rows.size() && through; ++index) {
    through = scan_row(db, event.rows[index], static_cast<std::uint32_t>(index));
    if (through) db.cursor = event.rows[index].id;
    if (db.rewind_wanted) through = false;  // A lane changed its producer: its earlier rows come first.
  }
  db.exhausted = through && event.exhausted && !missed_wake;
  db.window.pop_final();
  if (db.window.settle() > db.settled_asked) note_unmarked(db);
}

/// False: the scan stands before this row.
bool Core::State::scan_row(Database& db, const store::OutboxRow& row, std::uint32_t row_index) {
  Slot* known = db.window.find(row.id);
  if (known == nullptr && row.id <= db.window.last()) return true;  // Settled since, and let go of.
  if (known != nullptr && known->state != SlotState::unsent) return true;
  if (row.sent || row.held) {
    take_final(db, row, known);
    return true;
  }
  if (known == nullptr) {
    const bool long_tail = static_cast<std::int64_t>(db.window.size()) >= kWindowSpan * options.window_rows;
    if (!row_fits(db) || long_tail) return false;
  }
  Slot fresh;
  if (known == nullptr) fresh = make_slot(row);
  const Slot& slot = known != nullptr ? *known : fresh;
  Decision decision = decide(db, row, slot, {.from_held = false, .is_new = known == nullptr});
  if (decision.verdict == Verdict::stop) {
    db.stall = decision.stall;
    return false;
  }
  if (known == nullptr) {
    known = &db.window.push(row.id);
    *known = fresh;
    ++db.open_rows;
  }
  if (decision.verdict == Verdict::produce) {
    hand_over(db, *known, decision, row_index);
  } else if (decision.verdict == Verdict::hold) {
    hold(db, *known, decision.held, decision.due_at_ms, std::move(decision.reason));
  }
  return true;
}

/// A row that the snapshot shows as sent or held needs nothing more from the scan.
void Core::State::take_final(Database& db, const store::OutboxRow& row, Slot* known) {
  if (known == nullptr) {
    known = &db.window.push(row.id);
    known->nonce_prefix = row.nonce_prefix;
  } else {
    resolve(db, *known);
    --db.open_rows;
  }
  if (row.sent) {
    known->state = SlotState::sent;
    return;
  }
  known->state = SlotState::held;
  if (*row.held == store::HeldState::ready) want_pass(db);
  if (*row.held != store::HeldState::skipped && row.held_lane) {
    db.lanes.close(*row.held_lane, row.id, true);
    // A mark or a reload that looked before says nothing about this row.
    db.lanes.entry(*row.held_lane).seen_at = step_number;
  }
}

}  // namespace txbox::relay
