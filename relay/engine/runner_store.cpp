// The part of the loop that reads the databases and hears from the store worker.

#include "relay/engine/runner_state.hpp"

#include <algorithm>

#include <txbox/store/outbox_reader.hpp>

#include "relay/engine/passes_by_waiting.hpp"

namespace txbox::relay {

namespace {
using namespace std::chrono_literals;
constexpr auto kReadRetry = 100ms;
constexpr std::size_t kAwakeMost = 128;
}  // namespace

Error naming(const std::string& path, const Error& error) {
  const std::string text = error.what();
  return {error.code(), text.find(path) == std::string::npos ? path + ": " + text : text};
}

void Runner::State::take_file_changes() {
  watch.drain(file_changes);
  const SteadyTime time = now();
  for (const DatabaseIndex index : file_changes.touched) {
    if (!is_served(index)) continue;
    files[index]->wake->touched(time);
    looking.insert(index);
  }
  if (file_changes.appeared) next_scan = std::min(next_scan, time);
  // The next reading looks whether the file is still in its place.
  for (const DatabaseIndex index : file_changes.replaced) {
    if (is_served(index)) for_file(index, [&] { step(event::Woken{index, false}); });
  }
}

/// An awake file takes 300 KiB: where more than a few are read in turn, the first ones sleep again.
void Runner::State::note_awake(DatabaseIndex index) {
  if (!known_awake.insert(index).second) return;
  awake.push_back(index);
  if (awake.size() <= kAwakeMost) return;
  const DatabaseIndex first = awake.front();
  awake.pop_front();
  known_awake.erase(first);
  if (!is_served(first)) return;
  for_file(first, [&] { database(first).sleep(); });
  memory_released = true;
}

void Runner::State::open_for_core(DatabaseIndex index) {
  ServedFile& file = *files[index];
  store::OutboxReader& reader = file.database->reader();
  event::DatabaseOpened opened;
  opened.database = index;
  file.newest_deed = reader.newest_deed();  // First: what is done from here on is looked at once more.
  opened.progress = reader.progress();
  opened.held_lanes = reader.held_lanes();
  opened.next_due_ms = reader.next_due_ms();
  if (file.phase == ServedFile::Phase::waiting) {
    // Of no use to a reload, and a walk over every waiting row.
    opened.waiting_topics = reader.waiting_topics();
    file.drain_goal = opened.progress.newest_id;
    worker.add_database(index, file.path, file.database->witness_file());
    if (!cluster_id.empty()) worker.submit(index, UseCluster{cluster_id});
    watch.add(file.path, index);
    if (options.drain) draining.push_back(index);
    topics_to_hear_of.insert(opened.waiting_topics.begin(), opened.waiting_topics.end());
    numbers.insert_or_assign(*file.number, index);
    file.phase = ServedFile::Phase::serving;
    ++serving_count;
  }
  step(opened);
  note_awake(index);
}

void Runner::State::serve_store() {
  worker.take_answers(store_answers);
  for (StoreAnswer& answer : store_answers) {
    settled_moved = settled_moved || !std::holds_alternative<WalSeen>(answer);
    if (const auto* gone = std::get_if<StoreLeft>(&answer)) {
      left(gone->database);
    } else if (const auto* wal = std::get_if<WalSeen>(&answer)) {
      files[wal->database]->wal = *wal;
    } else if (const auto* failure = std::get_if<StoreFailure>(&answer)) {
      if (is_served(failure->database)) end_file(failure->database, failure->error);
    } else if (const auto* marked = std::get_if<event::Marked>(&answer)) {
      if (!is_served(marked->database)) continue;
      files[marked->database]->wake->written();
      files[marked->database]->row_count.changed();
      files[marked->database]->last_mark = system_clock().wall_now();
      for_file(marked->database, [&] { step(*marked); });
    } else if (const auto* pruned = std::get_if<event::Pruned>(&answer)) {
      if (is_served(pruned->database)) note_pruned(*pruned);
    } else {
      const auto& released = std::get<event::Released>(answer);
      if (!is_served(released.database)) continue;
      files[released.database]->wake->written();
      files[released.database]->row_count.changed();
      answered.push_back({released, {}});
    }
  }
  const SteadyTime time = now();
  for (std::size_t count = answered.size(); count > 0; --count) {
    const PendingRelease pending = answered.front();
    answered.pop_front();
    if (pending.not_before > time) {
      answered.push_back(pending);
    } else if (is_served(pending.released.database)) {
      for_file(pending.released.database, [&] { answer_one(pending); });
    }
  }
}

void Runner::State::note_pruned(const event::Pruned& pruned) {
  ServedFile& file = *files[pruned.database];
  if (pruned.step.deleted > 0) {
    file.pruned += pruned.step.deleted;
    file.last_prune = system_clock().wall_now();
    file.row_count.changed();
  }
  if (pruned.step.deleted > 0 || pruned.step.pages > 0)
    file.wake->written();
  else
    file.wake->nothing_written();
  for_file(pruned.database, [&] { step(pruned); });
}

void Runner::State::answer_one(const PendingRelease& pending) {
  event::Released released = pending.released;
  try {
    released.next_due_ms = database(released.database).reader().next_due_ms();
  } catch (const Error& error) {
    if (!passes_by_waiting(error.code())) throw;
    answered.push_back({released, now() + kReadRetry});
    return;
  }
  step(released);
}

void Runner::State::release_due(command::ReleaseDue& wish) {
  // Most of the time nothing is due, and then the write lock is none of our business.
  std::optional<std::int64_t> due;
  try {
    due = database(wish.database).reader().next_due_ms();
  } catch (const Error&) {
    // The answer asks again, outside of this step.
  }
  if (due && *due <= to_ms(system_clock().wall_now())) return submit(wish);
  answered.push_back({{wish.database, 0, false, due, 0}, {}});
}

void Runner::State::serve_wakes() {
  const SteadyTime time = now();
  for (auto next = looking.begin(); next != looking.end();) {
    const DatabaseIndex index = *next;
    WakeWatch& wake_watch = *files[index]->wake;
    ++next;  // The end of a file takes it out of the set.
    if (wake_watch.next_look() > time) continue;
    for_file(index, [&] {
      try {
        const auto verdict = wake_watch.look(time, database(index).data_version());
        if (verdict && verdict->changed_by_others) files[index]->row_count.changed();
        if (verdict) step(event::Woken{index, verdict->changed_by_others});
      } catch (const Error& error) {
        if (!passes_by_waiting(error.code())) throw;
        wake_watch.touched(time + kReadRetry);
      }
    });
    if (is_served(index) && wake_watch.next_look() == SteadyTime::max()) looking.erase(index);
  }
}

SteadyTime Runner::State::next_read() const {
  SteadyTime next = SteadyTime::max();
  for (const PendingRead& read : reads) next = std::min(next, read.not_before);
  return next;
}

void Runner::State::serve_reads() {
  if (refitting()) return;
  const SteadyTime time = now();
  const auto next =
      std::find_if(reads.begin(), reads.end(), [time](const PendingRead& read) { return read.not_before <= time; });
  if (next == reads.end()) return;
  PendingRead read = *next;
  reads.erase(next);
  const DatabaseIndex index = std::visit([](const auto& wish) { return wish.database; }, read.wish);
  for_file(index, [&] {
    try {
      read_one(read.wish);
      if (database(index).awake()) note_awake(index);
    } catch (const Error& error) {
      if (!passes_by_waiting(error.code())) throw;
      read.not_before = now() + kReadRetry;
      reads.push_back(read);
    }
  });
}

void Runner::State::read_one(const ReadWish& wish) {
  if (const auto* reload = std::get_if<command::Reload>(&wish)) {
    ServedFile& file = *files[reload->database];
    const bool unchanged = reload->only_after_deeds && file.database->reader().newest_deed() == file.newest_deed;
    return unchanged ? step(event::HeldUnchanged{reload->database}) : open_for_core(reload->database);
  }
  if (const auto* read = std::get_if<command::Read>(&wish)) {
    const store::ReadResult result = database(read->database).read_after(*read, batch);
    step(event::RowsRead{read->database, read->after, batch.rows(), result.exhausted, result.newest_id}, batch.rows());
  } else {
    const auto& ready_read = std::get<command::ReadReady>(wish);
    const store::ReadResult result = database(ready_read.database).read_ready(ready_read, batch);
    step(event::ReadyRead{ready_read.database, ready_read.after, batch.rows(), result.exhausted}, batch.rows());
  }
  settled_moved = true;
}

}  // namespace txbox::relay
