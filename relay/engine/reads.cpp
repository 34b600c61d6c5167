// Which database is read next, and how much: no more than the window takes.

#include <algorithm>

#include "relay/engine/core_state.hpp"

namespace txbox::relay {

std::int64_t Core::State::free_rows(const Database& db) const {
  const std::int64_t of_all = options.window_rows - totals.open_rows - totals.reserved_rows;
  return std::min(of_all, share(options.window_rows) - db.open_rows - db.reserved_rows);
}

/// A file of which nothing is under way may have so many rows beyond the window: others that are stuck do not keep it
/// back.
std::int64_t Core::State::first_rows() const noexcept {
  return open_databases > 1 ? std::clamp<std::int64_t>(options.window_rows / 16, 1, 64) : 0;
}

/// Whether one more row may be taken into memory.
bool Core::State::row_fits(const Database& db) const {
  if (db.open_rows < first_rows()) return true;
  return open_rows() == 0 || (open_rows() < options.window_rows && db.open_rows < share(options.window_rows));
}

bool Core::State::bytes_fit(const Database& db, std::int64_t bytes) const {
  // The first row of a database may go beyond the window: a large one would never find it empty beside busy files.
  if (db.in_flight_bytes == 0) return totals.in_flight_bytes <= options.window_bytes;
  return totals.in_flight_bytes + bytes <= options.window_bytes &&
         db.in_flight_bytes + bytes <= share(options.window_bytes);
}

store::ReadLimits Core::State::limits(const Database& db, std::int64_t rows) const {
  const std::int64_t of_all = options.window_bytes - totals.in_flight_bytes;
  const std::int64_t free_bytes =
      std::max<std::int64_t>(1, std::min(of_all, share(options.window_bytes) - db.in_flight_bytes));
  return {std::min(rows, options.read.rows), std::min(free_bytes, options.read.bytes)};
}

/// Whether what a scan stood before is out of the way.
bool Core::State::may_go_on(const Database& db, Stall& stall) {
  if (stall.topic) {
    const Topic& topic = topics.at(*stall.topic);
    if (topic.phase == TopicPhase::unknown) return false;
    const bool still_growing = stall.growth && topic.phase == TopicPhase::usable && topic.grown_to != 0;
    if (still_growing && topic.open_rows > 0) return false;
  }
  if (stall.bytes > 0 && !bytes_fit(db, stall.bytes)) return false;
  stall = {};
  return true;
}

bool Core::State::try_ready_pass(Database& db) {
  if (!db.pass_wanted || now < db.pass_not_before) return false;
  if (!may_go_on(db, db.pass_stall)) return false;
  const std::int64_t rows = free_rows(db);
  if (!row_fits(db)) return false;
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
  if (!may_go_on(db, db.stall)) return false;
  std::int64_t rows = options.read.rows;
  if (!replaying) {
    if (outage) return false;
    rows = free_rows(db);
    // Small readings cost as much as large ones: wait until a good part of the window is free.
    const std::int64_t worthwhile = std::max<std::int64_t>(1, std::min(options.read.rows, options.window_rows) / 4);
    const std::int64_t first = db.open_rows == 0 ? first_rows() : 0;
    if (rows < worthwhile && open_rows() > 0 && first == 0) return false;
    rows = std::max<std::int64_t>({1, first, rows});
  }
  const store::ReadLimits read = limits(db, rows);
  db.reading = Reading::rows;
  db.reserved_rows = replaying ? 0 : read.rows;
  db.floor_at = now + floor_interval();
  out->other.emplace_back(command::Read{db.index, db.cursor, read});
  return true;
}

void Core::State::schedule_reads() {
  for (const DatabaseIndex index : awake) {
    Database& db = *databases[index];
    if (now < db.floor_at) continue;
    db.exhausted = false;
    db.floor_at = now + floor_interval();
  }
  if (awake.empty() || guard(ProducerKind::main).broken) return;
  auto next = awake.lower_bound(first_to_read);
  for (std::size_t count = 0; count < awake.size(); ++count, ++next) {
    if (next == awake.end()) next = awake.begin();
    Database& db = *databases[*next];
    if (!db.opened || db.reading != Reading::none) continue;
    // Both sources in turn, so that neither starves the other.
    const bool ready_first = !db.last_was_ready;
    bool read_ready = ready_first && try_ready_pass(db);
    if (!read_ready && !try_read(db)) read_ready = !ready_first && try_ready_pass(db);
    db.last_was_ready = read_ready;
    if (db.reading != Reading::none) first_to_read = db.index + 1;
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
  if (!asleep.empty()) next = std::min(next, asleep.begin()->first);
  for (const DatabaseIndex index : awake) {
    const Database& db = *databases[index];
    if (!db.opened) continue;
    at(db.floor_at);
    if (db.unmarked_since) at(*db.unmarked_since + options.mark_interval);
    if (db.pass_wanted) at(db.pass_not_before);
    if (db.reload_wanted) at(db.reload_not_before);
    at_due_time(db, next);
    if (retention.wants(db.prune, to_ms(wall)) && retention.idle()) at(retention.not_before());
  }
  at_clock_look(next);
  if (handed_rows > 0 && !outage) at(progress_at + options.outage_after);
  if (handed_rows > 0) at(partitions_looked_at + kPartitionLooks);
  for (const ProducerGuard& producer : producers) {
    if (producer.retires_by) at(*producer.retires_by);
  }
  return next;
}

}  // namespace txbox::relay
