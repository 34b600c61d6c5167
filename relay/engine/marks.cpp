// Marks: receipts, held rows and settled_through go into the database in batches, in order.

#include <algorithm>
#include <iterator>
#include <utility>

#include <txbox/base/check.hpp>

#include "relay/engine/core_state.hpp"

namespace txbox::relay {

namespace {
/// The second mark is prepared while the first waits for the write lock; more would only queue up.
constexpr std::size_t kMarksUnderWay = 2;
/// So many times mark_rows go into one transaction at most: it bounds the time under the lock.
constexpr std::int64_t kMarkRowsSpan = 2;
}  // namespace

void Core::State::note_unmarked(Database& db) {
  if (!db.unmarked_since) db.unmarked_since = now;
}

void Core::State::schedule_marks(Database& db) {
  const auto pending = [&] { return static_cast<std::int64_t>(db.receipts.size() + db.holds.size()); };
  while (db.unmarked_since) {
    const bool urgent = stopping || now - *db.unmarked_since >= options.mark_interval;
    if (!urgent && pending() < options.mark_rows) return;
    if (db.marks.size() >= kMarksUnderWay && !deadline_passed) return;
    issue_mark(db);
  }
}

/// Issues one mark of the oldest pending rows, or none when settled_through would not even rise.
void Core::State::issue_mark(Database& db) {
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, kMarkRowsSpan * options.mark_rows));
  const std::size_t receipt_count = std::min(most, db.receipts.size());
  const std::size_t hold_count = std::min(most - receipt_count, db.holds.size());
  command::Mark mark;
  MarkUnderWay under_way;
  under_way.number = mark.mark = db.next_mark;
  std::set<store::Lane> lanes;
  for (std::size_t index = 0; index < receipt_count; ++index) {
    const std::int64_t id = db.receipts[index].id;
    under_way.receipts.push_back(id);
    const auto ready = db.ready.empty() ? db.ready.end() : db.ready.find(id);
    Slot& slot = ready != db.ready.end() ? ready->second : *db.window.find(id);
    slot.state = SlotState::marking;
    if (options.measure) count_published(db, slot, db.receipts[index]);
    // A held row of the lane goes with this receipt: the lane may be clear now.
    if (ready != db.ready.end() && slot.has_lane) lanes.insert(slot.lane);
  }
  for (std::size_t index = 0; index < hold_count; ++index) {
    const std::int64_t id = db.holds[index].id;
    const auto ready = db.ready.empty() ? db.ready.end() : db.ready.find(id);
    Slot& slot = ready != db.ready.end() ? ready->second : *db.window.find(id);
    slot.state = SlotState::hold_marking;
    // A ready row that is refused again, and lets its key go: what stood behind it may go now.
    if (ready != db.ready.end() && slot.has_lane && !db.hold_notes[index].lane) lanes.insert(slot.lane);
  }
  if (receipt_count == db.receipts.size()) {
    mark.receipts = std::exchange(db.receipts, {});
  } else {
    mark.receipts.assign(db.receipts.begin(), db.receipts.begin() + static_cast<std::ptrdiff_t>(receipt_count));
    db.receipts.erase(db.receipts.begin(), db.receipts.begin() + static_cast<std::ptrdiff_t>(receipt_count));
  }
  const auto holds_end = db.holds.begin() + static_cast<std::ptrdiff_t>(hold_count);
  const auto notes_end = db.hold_notes.begin() + static_cast<std::ptrdiff_t>(hold_count);
  mark.holds.assign(std::make_move_iterator(db.holds.begin()), std::make_move_iterator(holds_end));
  under_way.holds.assign(db.hold_notes.begin(), notes_end);
  db.holds.erase(db.holds.begin(), holds_end);
  db.hold_notes.erase(db.hold_notes.begin(), notes_end);
  if (db.receipts.empty() && db.holds.empty()) db.unmarked_since.reset();

  mark.database = db.index;
  mark.settled_through = under_way.settled_through = std::max(db.window.settle(), db.settled_asked);
  if (mark.receipts.empty() && mark.holds.empty() && mark.settled_through <= db.settled_asked) return;
  db.settled_asked = mark.settled_through;
  mark.lanes.assign(lanes.begin(), lanes.end());
  under_way.lanes = mark.lanes;
  under_way.issued_at = step_number;
  ++db.next_mark;
  db.marks.push_back(std::move(under_way));
  out->other.emplace_back(std::move(mark));
}

void Core::State::on_marked(const event::Marked& event) {
  Database& db = database(event.database);
  TXBOX_CHECK(!db.marks.empty() && db.marks.front().number == event.mark);
  const MarkUnderWay mark = std::move(db.marks.front());
  db.marks.pop_front();
  db.settled_confirmed = std::max(db.settled_confirmed, event.result.settled_through);
  for (const std::int64_t id : mark.receipts) receipt_marked(db, id);
  if (!mark.receipts.empty()) retention.sent(db.prune, to_ms(wall));
  for (const HoldNote& note : mark.holds) hold_marked(db, note);
  lanes_marked(db, mark, event.result);
  // Ready rows that were left may have waited for one of these.
  if (db.pass_left_rows) want_pass(db);
  db.window.pop_final();
  if (db.window.settle() > db.settled_asked) note_unmarked(db);
}

void Core::State::receipt_marked(Database& db, std::int64_t id) {
  --db.open_rows;
  if (db.reading == Reading::ready) db.done_while_reading.push_back(id);
  const auto ready = db.ready.empty() ? db.ready.end() : db.ready.find(id);
  if (ready == db.ready.end()) {
    db.window.find(id)->state = SlotState::sent;
    return;
  }
  db.ready.erase(ready);
}

void Core::State::hold_marked(Database& db, const HoldNote& note) {
  --db.open_rows;
  const auto ready = db.ready.find(note.id);
  if (ready == db.ready.end()) {
    db.window.find(note.id)->state = SlotState::held;
  } else {
    db.ready.erase(ready);
    if (db.reading == Reading::ready) db.done_while_reading.push_back(note.id);
  }
  if (note.lane) {
    LaneEntry& entry = db.lanes.entry(*note.lane);
    --entry.pending_holds;
    entry.touched = true;
    entry.confirmed_at = step_number;
    if (db.reading == Reading::ready) db.held_while_reading.insert(*note.lane);
    if (note.release_lane) queue_lane_release(db, *note.lane);
  }
  if (note.due_at_ms) {
    db.next_due_ms = std::min(db.next_due_ms.value_or(*note.due_at_ms), *note.due_at_ms);
    if (db.releasing)
      db.due_while_releasing = std::min(db.due_while_releasing.value_or(*note.due_at_ms), *note.due_at_ms);
  }
  // The topic came back between the decision and the mark: its release did not see this row.
  if (note.state == store::HeldState::waiting && note.topic != kNoTopic &&
      topics.at(note.topic).epoch != note.topic_epoch) {
    queue_topic_release(db, note.topic, 0);
  }
}

void Core::State::lanes_marked(Database& db, const MarkUnderWay& mark, const store::MarkResult& result) {
  std::vector<store::Lane> clear = result.clear_lanes;
  std::sort(clear.begin(), clear.end());
  for (const store::Lane lane : mark.lanes) {
    LaneEntry* entry = db.lanes.find(lane);
    if (entry == nullptr || !entry->closed) continue;
    entry->touched = true;
    if (!std::binary_search(clear.begin(), clear.end(), lane)) {
      queue_lane_release(db, lane);
    } else if (entry->seen_at > mark.issued_at) {
      db.reload_wanted = db.reload_whole = true;
    } else if (entry->pending_holds == 0) {
      db.lanes.open(lane);
    } else {
      entry->release_after_holds = true;
    }
  }
  for (const HoldNote& note : mark.holds) {
    LaneEntry* entry = note.lane ? db.lanes.find(*note.lane) : nullptr;
    if (entry == nullptr || !entry->release_after_holds || entry->pending_holds > 0) continue;
    entry->release_after_holds = false;
    queue_lane_release(db, *note.lane);
  }
}

bool Core::State::everything_marked(Database& db) {
  return db.receipts.empty() && db.holds.empty() && db.marks.empty();
}

}  // namespace txbox::relay
