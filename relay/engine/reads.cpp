// Which database is read next, and how much: no more than the window takes.

#include <algorithm>

#include "relay/engine/core_state.hpp"

namespace txbox::relay {

std::int64_t Core::State::open_rows() const {
  std::int64_t rows = 0;
  for (const Database& db : databases) rows += db.open_rows;
  return rows;
}

std::int64_t Core::State::free_rows() const {
  std::int64_t rows = options.window_rows;
  for (const Database& db : databases) rows -= db.open_rows + db.reserved_rows;
  return rows;
}

store::ReadLimits Core::State::limits(std::int64_t rows) const {
  const std::int64_t free_bytes = std::max<std::int64_t>(1, options.window_bytes - in_flight_bytes);
  return {std::min(rows, options.read.rows), std::min(free_bytes, options.read.bytes)};
}

/// Whether what a scan stood before is out of the way.
bool Core::State::may_go_on(Stall& stall) {
  if (stall.topic) {
    const Topic& topic = topics.at(*stall.topic);
    if (topic.phase == TopicPhase::unknown) return false;
    const bool still_growing = stall.growth && topic.phase == TopicPhase::usable && topic.grown_to != 0;
    if (still_growing && topic.open_rows > 0) return false;
  }
  if (stall.bytes > 0 && !bytes_fit(stall.bytes)) return false;
  stall = {};
  return true;
}

bool Core::State::try_ready_pass(Database& db) {
  if (!db.pass_wanted || now < db.pass_not_before) return false;
  if (!may_go_on(db.pass_stall)) return false;
  const std::int64_t rows = free_rows();
  if (rows <= 0 && open_rows() > 0) return false;
  // The rows of earlier passes stand first until they are marked: a reading that shows nothing else is of no use.
  if (static_cast<std::int64_t>(db.ready.size()) >= options.read.rows) return false;
  db.pass_wanted = false;
  db.pass_left_rows = false;
  db.pass_began = now;
  db.pass_skipped.clear();
  db.pass_suspects.clear();
  db.reading = Reading::ready;
  db.reserved_rows = std::clamp<std::int64_t>(rows, 0, options.read.rows);
  out->other.emplace_back(command::ReadReady{db.index, 0, db.window.last(), options.read});
  return true;
}

bool Core::State::try_read(Database& db) {
  const bool replaying = db.cursor < db.window.last();
  if (db.exhausted && !replaying) return false;
  if (!may_go_on(db.stall)) return false;
  std::int64_t rows = options.read.rows;
  if (!replaying) {
    if (outage) return false;
    rows = free_rows();
    // Small readings cost as much as large ones: wait until a good part of the window is free.
    const std::int64_t worthwhile = std::max<std::int64_t>(1, std::min(options.read.rows, options.window_rows) / 4);
    if (rows < worthwhile && open_rows() > 0) return false;
    rows = std::max<std::int64_t>(1, rows);
  }
  const store::ReadLimits read = limits(rows);
  db.reading = Reading::rows;
  db.reserved_rows = replaying ? 0 : read.rows;
  db.floor_at = now + options.floor_interval;
  out->other.emplace_back(command::Read{db.index, db.cursor, read});
  return true;
}

void Core::State::schedule_reads() {
  for (Database& db : databases) {
    if (now < db.floor_at) continue;
    db.exhausted = false;
    db.floor_at = now + options.floor_interval;
  }
  if (databases.empty() || guard(ProducerKind::main).broken) return;
  const std::size_t first = first_to_read;
  for (std::size_t offset = 0; offset < databases.size(); ++offset) {
    Database& db = databases[(first + offset) % databases.size()];
    if (!db.opened || db.reading != Reading::none) continue;
    // Both sources in turn, so that neither starves the other.
    const bool ready_first = !db.last_was_ready;
    bool read_ready = ready_first && try_ready_pass(db);
    if (!read_ready && !try_read(db)) read_ready = !ready_first && try_ready_pass(db);
    db.last_was_ready = read_ready;
    if (db.reading != Reading::none) first_to_read = (first + offset + 1) % databases.size();
  }
}

/// Only what time alone brings about: what waits for an answer as well is taken up when that comes, and a tick in the
/// meantime would change nothing.
SteadyTime Core::State::next_tick() const {
  SteadyTime next = SteadyTime::max();
  if (stopping) return next;
  const auto at = [&](SteadyTime time) {
    if (time > now) next = std::min(next, time);
  };
  at(topics.next_ask());
  for (const Database& db : databases) {
    if (!db.opened) continue;
    at(db.floor_at);
    if (db.unmarked_since) at(*db.unmarked_since + options.mark_interval);
    if (db.pass_wanted) at(db.pass_not_before);
    if (db.reload_wanted) at(db.reload_not_before);
    if (db.next_due_ms && !db.releasing) {
      // Far-off times are looked at again now and then: the wall clock may be set, and the sum must not overflow.
      const std::int64_t wait_ms = std::clamp<std::int64_t>(*db.next_due_ms - to_ms(wall), 1, 60'000);
      at(now + std::chrono::milliseconds(wait_ms));
    }
  }
  if (handed_rows > 0 && !outage) at(progress_at + options.outage_after);
  return next;
}

}  // namespace txbox::relay
