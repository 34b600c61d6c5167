// The order guard. The first failure of any kind closes its producer at once; nothing is handed over until it was
// rebuilt, and then every lane goes on at its first row that was not acknowledged.

#include <algorithm>
#include <utility>

#include "relay/engine/core_state.hpp"

namespace txbox::relay {

namespace {
constexpr Backoff kRebuild{std::chrono::milliseconds(50), std::chrono::milliseconds(10'000)};
}  // namespace

void Core::State::on_reports(std::span<const event::Report> reports) {
  std::array<bool, 2> failed{};
  for (const event::Report& report : reports) {
    if (!knows(report.database)) continue;
    Database& db = database(report.database);
    Slot* slot = find_in_flight(db, report.row);
    if (slot == nullptr) continue;
    if (report.kind == ReportKind::sent) {
      on_ack(db, *slot, report);
    } else if (report.generation == slot->generation && report.producer == slot->producer) {
      failed[static_cast<std::size_t>(report.producer)] = true;
      on_failure(db, *slot, report);
    }
  }
  for (const DatabaseIndex index : awake) {
    Database& db = *databases[index];
    if (failed[0]) take_back(db, ProducerKind::main);
    if (failed[1]) take_back(db, ProducerKind::probation);
  }
}

Slot* Core::State::find_in_flight(Database& db, std::int64_t row) {
  Slot* slot = nullptr;
  if (!db.ready.empty()) {
    const auto found = db.ready.find(row);
    if (found != db.ready.end()) slot = &found->second;
  }
  if (slot == nullptr) slot = db.window.find(row);
  return slot != nullptr && slot->state == SlotState::in_flight ? slot : nullptr;
}

void Core::State::left_flight(Database& db, Slot& slot) {
  --in_flight_rows;
  db.in_flight_bytes = db.in_flight_bytes - slot.bytes;
  --topics.at(slot.topic).partition(slot.partition).in_flight[static_cast<std::size_t>(slot.producer)];
  if (--guard(slot.producer).in_flight == 0) {
    guard(slot.producer).alone.reset();
    if (slot.producer == ProducerKind::probation) next_turn();
  }
  if (slot.has_lane && slot.producer == ProducerKind::probation) --db.lanes.entry(slot.lane).in_flight;
}

/// The row is through, one way or the other: it is acknowledged, held, or seen as such in the database.
void Core::State::resolve(Database& db, Slot& slot) {
  if (slot.handed) {
    slot.handed = false;
    --topics.at(slot.topic).open_rows;
    --handed_rows;
  }
  if (!slot.suspect) return;
  slot.suspect = false;
  if (std::exchange(slot.killer, false)) no_longer_killer(slot.state == SlotState::acked);
  db.ready_suspects.erase(slot.id);
  if (!slot.has_lane) return;
  --db.lanes.entry(slot.lane).suspects;
  check_lane_return(db, slot.lane);
}

void Core::State::on_ack(Database& db, Slot& slot, const event::Report& report) {
  left_flight(db, slot);
  progress_at = now;
  ++acknowledgements;
  Topic& topic = topics.at(slot.topic);
  topic.partition(slot.partition).progress_at = now;
  topic.silent_looks = 0;
  if (topic.is_unavailable(slot.partition)) call_available(slot.topic, slot.partition);
  if (report.generation == guard(slot.producer).generation) guard(slot.producer).failures = 0;
  const auto& failed = db.failed[static_cast<std::size_t>(slot.producer)];
  if (slot.has_lane && !failed.empty()) {
    const auto first = failed.find(slot.lane);
    if (first != failed.end() && first->second < slot.id) {
      // It overtook a failed row of its lane: the whole run is sent again, in order.
      slot.repeated = true;
      to_unsent(db, slot);
      return;
    }
  }
  topics.acknowledged(slot.topic, slot.producer, report.partition, report.offset, *out);
  db.receipts.push_back({slot.id, slot.nonce_prefix, report.partition, report.offset, to_ms(wall)});
  slot.state = SlotState::acked;
  ++sent;
  note_unmarked(db);
  resolve(db, slot);
  if (slot.has_lane && slot.producer == ProducerKind::probation) check_lane_return(db, slot.lane);
}

void Core::State::note_failed(Database& db, const Slot& slot) {
  if (!slot.has_lane) return;
  auto& failed = db.failed[static_cast<std::size_t>(slot.producer)];
  const auto [first, added] = failed.try_emplace(slot.lane, slot.id);
  if (!added) first->second = std::min(first->second, slot.id);
}

void Core::State::on_failure(Database& db, Slot& slot, const event::Report& report) {
  left_flight(db, slot);
  const bool refused_for_good = report.kind == ReportKind::record_refused && slot.producer == ProducerKind::probation;
  if (refused_for_good) guard(slot.producer).failures = 0;  // A verdict is progress: the next suspect need not wait.
  break_producer(slot.producer);
  if (refused_for_good) {
    // Alone in its batch: the row itself is the offence.
    refuse(db, slot, error_text(report.error));
    return;
  }
  note_failed(db, slot);
  if (report.kind == ReportKind::record_refused) suspect(db, slot);
  if (report.kind == ReportKind::topic_refused) topics.refused(now, slot.topic, error_text(report.error));
  if (report.kind == ReportKind::unknown) slot.repeated = true;
  to_unsent(db, slot);
}

/// Parks a row that is the offence. Where its key goes on without it, nothing overtook it.
void Core::State::refuse(Database& db, Slot& slot, std::string reason) {
  if (options.on_refusal == OnRefusal::block) note_failed(db, slot);
  ++slot.attempts;
  const store::Lane lane = slot.lane;
  const bool has_lane = slot.has_lane;
  hold(db, slot, store::HeldState::parked, std::nullopt, std::move(reason));
  if (has_lane) check_lane_return(db, lane);
  want_pass(db);
}

/// A row of a refused batch. Which one was the offence, the probation producer finds out, one row a batch.
void Core::State::suspect(Database& db, Slot& slot) {
  if (slot.suspect) return;
  slot.suspect = true;
  if (db.ready.contains(slot.id)) {
    const auto lane = slot.has_lane ? std::optional(slot.lane) : std::nullopt;
    db.ready_suspects.emplace(slot.id, ReadySuspect{.lane = lane});
  }
  if (!slot.has_lane) return;
  LaneEntry& entry = db.lanes.entry(slot.lane);
  ++entry.suspects;
  if (entry.producer == ProducerKind::probation) return;
  entry.to_probation = true;
  db.moving.insert(slot.lane);
}

/// To be handed over again. Invalidates `slot` when it is a ready row: the next pass reads it anew.
void Core::State::to_unsent(Database& db, Slot& slot) {
  LaneEntry* entry = slot.has_lane ? db.lanes.find(slot.lane) : nullptr;
  const store::Lane lane = slot.lane;
  const bool on_probation = slot.producer == ProducerKind::probation;
  if (entry != nullptr) entry->deferred = true;
  const auto ready = db.ready.find(slot.id);
  if (ready != db.ready.end()) {
    if (slot.handed) {
      --topics.at(slot.topic).open_rows;
      --handed_rows;
    }
    db.ready.erase(ready);
    --db.open_rows;
    want_pass(db);
  } else {
    slot.state = SlotState::unsent;
  }
  if (entry != nullptr && on_probation) check_lane_return(db, lane);
}

void Core::State::break_producer(ProducerKind kind) {
  ProducerGuard& producer = guard(kind);
  if (producer.broken && !producer.retires_by) return;
  producer.retires_by.reset();
  producer.broken = true;
  ++producer_rebuilds;
  command::Rebuild rebuild{kind, producer.generation + 1, std::chrono::milliseconds(0)};
  if (producer.failures > 0 && !stopping) rebuild.wait = kRebuild.wait(producer.failures - 1, random);
  ++producer.failures;
  rebuild.batch_halvings = batch_halvings;
  out->other.emplace_back(rebuild);
  // A refusal may mean that a topic's limits were changed.
  if (kind == ProducerKind::main) topics.refresh_all(now);
}

void Core::State::on_producer_ready(const event::ProducerReady& event) {
  ProducerGuard& producer = guard(event.producer);
  producer.generation = event.generation;
  producer.broken = false;
  producer.ends.clear();
  for (const DatabaseIndex index : awake) {
    Database& db = *databases[index];
    abandon_flight(db, event.producer);
    take_back(db, event.producer);
    db.failed[static_cast<std::size_t>(event.producer)].clear();
    if (event.producer == ProducerKind::main) {
      // Every row of these lanes has its final report now: the moment to change the producer.
      for (const store::Lane lane : db.moving) {
        LaneEntry& entry = db.lanes.entry(lane);
        entry.to_probation = false;
        if (entry.suspects > 0) entry.producer = ProducerKind::probation;
        db.lanes.forget_if_idle(lane);
      }
      db.moving.clear();
    }
    db.rewind_wanted = true;
    want_pass(db);
  }
}

/// Rows of a producer that is gone, without a report: they may be in Kafka or not.
void Core::State::abandon_flight(Database& db, ProducerKind kind) {
  const auto abandon = [&](Slot& slot) {
    left_flight(db, slot);
    note_failed(db, slot);
    slot.repeated = true;
    to_unsent(db, slot);
  };
  for (std::size_t index = 0; index < db.window.size(); ++index) {
    Slot& slot = db.window.at(index);
    if (slot.state == SlotState::in_flight && slot.producer == kind) abandon(slot);
  }
  for (auto next = db.ready.begin(); next != db.ready.end();) {
    Slot& slot = (next++)->second;
    if (slot.state == SlotState::in_flight && slot.producer == kind) abandon(slot);
  }
}

/// Acknowledged rows that overtook a failed row of their lane, and whose receipt is not under way, count as unsent.
void Core::State::take_back(Database& db, ProducerKind kind) {
  const auto& failed = db.failed[static_cast<std::size_t>(kind)];
  if (failed.empty()) return;
  const auto overtook = [&](const store::Receipt& receipt) {
    const auto ready = db.ready.find(receipt.id);
    Slot* slot = ready != db.ready.end() ? &ready->second : db.window.find(receipt.id);
    if (slot == nullptr || slot->state != SlotState::acked || !slot->has_lane || slot->producer != kind) return false;
    const auto first = failed.find(slot->lane);
    if (first == failed.end() || first->second > slot->id) return false;
    --sent;
    slot->repeated = true;
    to_unsent(db, *slot);
    return true;
  };
  std::erase_if(db.receipts, overtook);
}

/// A lane leaves probation when no suspect is left and each of its rows has a final report.
void Core::State::check_lane_return(Database& db, store::Lane lane) {
  LaneEntry* entry = db.lanes.find(lane);
  if (entry == nullptr || entry->producer != ProducerKind::probation || entry->suspects > 0 || entry->in_flight > 0)
    return;
  entry->producer = ProducerKind::main;
  const bool passed_rows = std::exchange(entry->deferred, false);
  db.lanes.forget_if_idle(lane);
  if (!passed_rows) return;
  db.rewind_wanted = true;
  want_pass(db);
}

/// Back to the first row that is to be handed over (again). At the end of the step: a batch that is being decided
/// must stop first.
void Core::State::apply_rewind(Database& db) {
  if (!std::exchange(db.rewind_wanted, false)) return;
  const std::int64_t first = db.window.first_unsent();
  if (first == 0 || first > db.cursor) return;
  db.cursor = first - 1;
  db.exhausted = false;
  db.stall = {};
}

}  // namespace txbox::relay
