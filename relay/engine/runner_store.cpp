// The part of the loop that reads the databases and hears from the store worker.

#include "relay/engine/runner_state.hpp"

#include <algorithm>

#include <txbox/store/outbox_reader.hpp>

namespace txbox::relay {

namespace {
using namespace std::chrono_literals;
constexpr auto kReadRetry = 100ms;
}  // namespace

Error naming(const std::string& path, const Error& error) {
  const std::string text = error.what();
  return {error.code(), text.find(path) == std::string::npos ? path + ": " + text : text};
}

bool Runner::State::open_databases() {
  for (const std::string& path : options.databases) {
    try {
      auto database = OpenDatabase::open(
          {path, options.state_directory, options.standby, options.stop_descriptor, drain_deadline}, options.log);
      if (!database) return false;
      databases.push_back(std::move(database));
    } catch (const Error& error) {
      throw naming(path, error);
    }
  }
  return true;
}

void Runner::State::open_for_core(DatabaseIndex index) {
  store::OutboxReader& reader = databases[index]->reader();
  event::DatabaseOpened opened;
  opened.database = index;
  opened.progress = reader.progress();
  opened.held_lanes = reader.held_lanes();
  opened.next_due_ms = reader.next_due_ms();
  if (drain_goals.size() == index) {
    // Of no use to a reload, and a walk over every waiting row.
    opened.waiting_topics = reader.waiting_topics();
    drain_goals.push_back(opened.progress.newest_id);
    topics_to_hear_of.insert(opened.waiting_topics.begin(), opened.waiting_topics.end());
  }
  step(opened);
}

void Runner::State::serve_store() {
  worker.take_answers(store_answers);
  for (StoreAnswer& answer : store_answers) {
    if (const auto* failure = std::get_if<StoreFailure>(&answer)) {
      throw naming(databases[failure->database]->path(), failure->error);
    }
    settled_moved = true;
    if (const auto* marked = std::get_if<event::Marked>(&answer)) {
      wakes[marked->database].written();
      step(*marked);
    } else {
      auto& released = std::get<event::Released>(answer);
      released.next_due_ms = databases[released.database]->reader().next_due_ms();
      wakes[released.database].written();
      step(released);
    }
  }
  while (!answered.empty()) {
    const event::Released released = answered.front();
    answered.pop_front();
    step(released);
  }
}

void Runner::State::release_due(command::ReleaseDue& wish) {
  // Most of the time nothing is due, and then the write lock is none of our business.
  const auto due = databases[wish.database]->reader().next_due_ms();
  if (due && *due <= to_ms(system_clock().wall_now())) return submit(wish);
  answered.push_back({wish.database, 0, false, due, 0});
}

void Runner::State::serve_wakes() {
  const SteadyTime time = now();
  for (std::size_t index = 0; index < wakes.size(); ++index) {
    if (wakes[index].next_look() > time) continue;
    const auto verdict = wakes[index].look(time, databases[index]->reader().data_version());
    if (verdict) step(event::Woken{static_cast<DatabaseIndex>(index), verdict->changed_by_others});
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
  try {
    read_one(read.wish);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::busy) {
      throw naming(databases[std::visit([](const auto& wish) { return wish.database; }, read.wish)]->path(), error);
    }
    read.not_before = now() + kReadRetry;
    reads.push_back(read);
  }
}

void Runner::State::read_one(const ReadWish& wish) {
  if (const auto* reload = std::get_if<command::Reload>(&wish)) return open_for_core(reload->database);
  if (const auto* read = std::get_if<command::Read>(&wish)) {
    const store::ReadResult result = databases[read->database]->read_after(*read, batch);
    step(event::RowsRead{read->database, read->after, batch.rows(), result.exhausted, result.newest_id}, batch.rows());
  } else {
    const auto& ready_read = std::get<command::ReadReady>(wish);
    const store::ReadResult result = databases[ready_read.database]->read_ready(ready_read, batch);
    step(event::ReadyRead{ready_read.database, ready_read.after, batch.rows(), result.exhausted}, batch.rows());
  }
  settled_moved = true;
}

}  // namespace txbox::relay
