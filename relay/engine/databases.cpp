// Which databases there are, and which of them need to be looked at: with a thousand files a step must not walk over
// those that are idle.

#include <algorithm>

#include "relay/engine/core_state.hpp"

namespace txbox::relay {

namespace {
/// Readings that only the floor timer asks for, in a second: beside many files each has its turn less often.
constexpr std::int64_t kFloorsASecond = 50;
/// Far-off times are looked at again now and then: the sum must not overflow.
constexpr std::int64_t kLongestWaitMs = 60'000;
/// The wall clock may be set: so soon it is noticed where rows are scheduled, and by so much it has to move. Below
/// that, rows are so much late; drift comes to it in time.
constexpr std::chrono::milliseconds kClockLook{20};
constexpr std::chrono::milliseconds kClockMove{5};
}  // namespace

/// The database, made when it is new, and awake from here on.
Database& Core::State::database(DatabaseIndex index) {
  if (databases.size() <= index) databases.resize(std::size_t{index} + 1);
  if (!databases[index]) {
    databases[index].emplace(index, totals);
    awake.insert(index);
    ++open_databases;
  }
  wake(*databases[index]);
  return *databases[index];
}

void Core::State::on_closed(DatabaseIndex index) {
  Database& db = database(index);
  const auto forget = [&](Slot& slot) {
    if (slot.state == SlotState::in_flight) left_flight(db, slot);
    resolve(db, slot);
  };
  for (std::size_t position = 0; position < db.window.size(); ++position) forget(db.window.at(position));
  for (auto& [id, slot] : db.ready) forget(slot);
  for (const auto& [id, suspect] : db.ready_suspects) {
    if (suspect.killer) no_longer_killer(false);
  }
  for (std::uint32_t number = 0; number < topics.size(); ++number) topics.at(number).waiting_in.erase(index);
  db.open_rows = 0;
  db.reserved_rows = 0;
  retention.forget(index);
  databases[index].reset();
  awake.erase(index);
  --open_databases;
}

void Core::State::wake(Database& db) {
  if (!db.asleep_until) return;
  asleep.erase({*db.asleep_until, db.index});
  asleep_until_due.erase(db.index);
  db.asleep_until.reset();
  awake.insert(db.index);
}

void Core::State::wake_due() {
  while (!asleep.empty() && asleep.begin()->first <= now) wake(*databases[asleep.begin()->second]);
}

/// When a sleeping database is due was reckoned by the offset of the two clocks.
void Core::State::watch_clock() {
  const auto offset = wall.time_since_epoch() - now.time_since_epoch();
  if (std::chrono::abs(offset - clock_offset) < kClockMove) return;
  clock_offset = offset;
  while (!asleep_until_due.empty()) wake(*databases[*asleep_until_due.begin()]);
}

void Core::State::let_sleep() {
  for (auto next = awake.begin(); next != awake.end();) {
    Database& db = *databases[*next];
    if (!at_rest(db)) {
      ++next;
      continue;
    }
    SteadyTime until = db.floor_at;
    at_due_time(db, until);
    db.asleep_until = until;
    asleep.emplace(until, db.index);
    if (db.next_due_ms) asleep_until_due.insert(db.index);
    next = awake.erase(next);
  }
}

/// Only a commit of others, or time, brings something to do. A file that waits for retention's turn waits asleep: at a
/// start that is every one.
bool Core::State::at_rest(const Database& db) const {
  const bool scanned = db.exhausted && db.cursor >= db.window.last() && db.floor_at > now;
  const bool passed = !db.pass_wanted && !db.pass_left_rows && db.ready.empty() && db.ready_suspects.empty();
  const bool marked = !db.unmarked_since && db.marks.empty();
  const bool released = db.releases.empty() && !db.releasing && !db.reload_wanted && !db.reloading;
  const bool ordered = db.failed[0].empty() && db.failed[1].empty() && db.moving.empty() && !db.rewind_wanted;
  return db.opened && db.reading == Reading::none && db.open_rows == 0 && scanned && passed && marked && released &&
         ordered && !db.prune.walking;
}

std::chrono::milliseconds Core::State::floor_interval() const {
  return options.floor_interval * std::max<std::int64_t>(1, (open_databases + kFloorsASecond - 1) / kFloorsASecond);
}

bool Core::State::ready_pending(const Database& db) const {
  const bool due = db.next_due_ms && *db.next_due_ms <= to_ms(wall);
  const bool passing = !db.ready.empty() || db.pass_wanted || db.reading == Reading::ready;
  return !db.opened || passing || !db.releases.empty() || db.releasing.has_value() || due;
}

void Core::State::at_due_time(const Database& db, SteadyTime& next) const {
  if (!db.next_due_ms || db.releasing) return;
  const std::int64_t wait_ms = std::clamp<std::int64_t>(*db.next_due_ms - to_ms(wall), 1, kLongestWaitMs);
  next = std::min<SteadyTime>(next, now + std::chrono::milliseconds(wait_ms));
}

/// While nothing but a time is waited for, somebody has to look whether that was set.
void Core::State::at_clock_look(SteadyTime& next) const {
  const bool awake_until_due = std::any_of(awake.begin(), awake.end(), [this](DatabaseIndex index) {
    return databases[index]->next_due_ms && !databases[index]->releasing;
  });
  if (awake_until_due || !asleep_until_due.empty()) next = std::min<SteadyTime>(next, now + kClockLook);
}

}  // namespace txbox::relay
