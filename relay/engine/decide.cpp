// The rules for one row: may it go to Kafka now, where, or why not. docs/architecture.md, "The relay's core".

#include <algorithm>
#include <utility>

#include "relay/engine/core_state.hpp"

namespace txbox::relay {

namespace {

/// Kafka's record batch header, and the smallest record around key and value (message format v2).
constexpr std::int64_t kBatchOverhead = 61;
constexpr std::int64_t kRecordOverhead = 7;
/// The relay's own headers: `id`, `txbox-created-at` with 13 digits, each with two lengths.
constexpr std::int64_t kCreatedAtHeaderBytes = 16 + 13 + 2;
constexpr std::int64_t kIdHeaderBytes = 2 + 2;
constexpr std::int64_t kComposedEventIdBytes = 36;
/// What librdkafka keeps beside a record's bytes, roughly: the window is about memory.
constexpr std::int64_t kMemoryOverhead = 128;

/// The least that this record takes in a batch of its own. The row's own headers are counted as nothing: their JSON
/// says little about their size, and what is refused here must be refused by Kafka as well.
std::int64_t least_batch_bytes(const store::OutboxRow& row) {
  const auto event_id = row.event_id.empty() ? kComposedEventIdBytes : static_cast<std::int64_t>(row.event_id.size());
  const std::int64_t own_headers = row.as_is ? 0 : kIdHeaderBytes + event_id + kCreatedAtHeaderBytes;
  return kBatchOverhead + kRecordOverhead + static_cast<std::int64_t>(row.key.size() + row.payload.size()) +
         own_headers;
}

}  // namespace

std::string Core::State::refused_by_itself(const store::OutboxRow& row, const Slot& slot) const {
  if (row.nonce.empty())
    return error_text(kafka_code::kInvalidRecord) + " (the row's nonce is not 10 bytes: was the table rebuilt?)";
  if (slot.topic == kNoTopic) return error_text(kafka_code::kInvalidTopic) + " (not a name that Kafka takes)";
  return {};
}

std::string Core::State::refused_by_topic(const store::OutboxRow& row, const Topic& topic) const {
  const std::int64_t bytes = least_batch_bytes(row);
  if (topic.message_bytes_max > 0 && bytes > topic.message_bytes_max) {
    return error_text(kafka_code::kMsgSizeTooLarge) + " (the record takes " + std::to_string(bytes) +
           " bytes, the topic allows " + std::to_string(topic.message_bytes_max) + ")";
  }
  if (topic.compacted && row.key.is_null()) {
    return error_text(kafka_code::kInvalidRecord) + " (a compacted topic takes no record without a key)";
  }
  return {};
}

/// True when the topic has the last word on this row for now.
bool Core::State::decide_by_topic(const store::OutboxRow& row, const Slot& slot, RowOrigin origin, Decision& decision) {
  Topic& topic = topics.at(slot.topic);
  if (topic.phase == TopicPhase::unknown) {
    decision.verdict = Verdict::stop;
    decision.stall.topic = slot.topic;
    return true;
  }
  if (topic.phase != TopicPhase::usable) {
    decision.verdict = Verdict::hold;
    decision.held = store::HeldState::waiting;
    decision.reason = topic.reason;
    return true;
  }
  // Rows that were read under the old partition count still go out by it.
  if (topic.grown_to != 0 && origin.is_new) {
    if (topics.adopt_growth(slot.topic, *out)) {
      release_topic(slot.topic);
    } else {
      decision.verdict = Verdict::stop;
      decision.stall = {.topic = slot.topic, .growth = true};
      return true;
    }
  }
  if (row.partition && *row.partition >= topic.partitions) {
    decision.verdict = Verdict::hold;
    decision.held = store::HeldState::waiting;
    decision.reason = error_text(kafka_code::kUnknownPartition) + " (partition " + std::to_string(*row.partition) +
                      " of " + std::to_string(topic.partitions) + ")";
    return true;
  }
  return false;
}

/// False when the row's producer takes nothing now.
bool Core::State::choose_producer(Database& db, const Slot& slot, Decision& decision) {
  LaneEntry* entry = slot.has_lane ? db.lanes.find(slot.lane) : nullptr;
  decision.producer = slot.suspect ? ProducerKind::probation : ProducerKind::main;
  if (entry != nullptr) decision.producer = entry->producer;
  // A lane without suspects goes back to the main producer as soon as nothing of it is in flight.
  const bool returning = entry != nullptr && entry->producer == ProducerKind::probation && entry->suspects == 0;
  if (!returning && !guard(decision.producer).broken && !must_wait_for_turn(decision.producer)) return true;
  if (entry != nullptr) entry->deferred = true;
  return false;
}

Core::State::Decision Core::State::decide(Database& db, const store::OutboxRow& row, const Slot& slot,
                                          RowOrigin origin) {
  Decision decision;
  decision.verdict = Verdict::hold;
  // A person may retry a scheduled row before its time, so only the scan looks at it.
  if (!origin.from_held && row.deliver_at_ms && *row.deliver_at_ms > to_ms(wall)) {
    decision.held = store::HeldState::scheduled;
    decision.due_at_ms = row.deliver_at_ms;
    return decision;
  }
  decision.held = store::HeldState::parked;
  decision.reason = refused_by_itself(row, slot);
  if (!decision.reason.empty()) return decision;
  if (decide_by_topic(row, slot, origin, decision)) return decision;
  if (!origin.from_held && slot.has_lane) {
    const LaneEntry* entry = db.lanes.find(slot.lane);
    if (entry != nullptr && entry->closed && slot.id > entry->closed_from) {
      decision.held = store::HeldState::blocked;
      return decision;
    }
  }
  Topic& topic = topics.at(slot.topic);
  decision.reason = refused_by_topic(row, topic);
  if (!decision.reason.empty()) {
    // A person who retries has mended something: what is known of the topic may be a minute old.
    if (!origin.from_held) return decision;
    const auto [asked, first_time] = db.limits_asked.try_emplace(slot.id, topic.answers);
    if (topic.answers > asked->second) {
      db.limits_asked.erase(asked);
      return decision;
    }
    if (first_time) topic.describe_at = now;
    decision.verdict = Verdict::defer;
    return decision;
  }
  if (!choose_producer(db, slot, decision)) {
    decision.verdict = Verdict::defer;
    return decision;
  }
  if (!bytes_fit(db, slot.bytes)) {
    decision.verdict = Verdict::stop;
    decision.stall.bytes = slot.bytes;
    return decision;
  }
  if (row.partition) {
    decision.partition = *row.partition;
  } else if (row.key.is_null()) {
    decision.partition = topics.spread(slot.topic, slot.bytes);
  } else {
    decision.partition = partitioner(row.key.view(), topic.partitions);
  }
  if (topic.is_unavailable(decision.partition)) {
    decision.held = store::HeldState::waiting;
    decision.reason = topic.partition(decision.partition).reason;
    return decision;
  }
  decision.verdict = Verdict::produce;
  return decision;
}

Slot Core::State::make_slot(const store::OutboxRow& row) {
  Slot slot;
  slot.id = row.id;
  slot.nonce_prefix = row.nonce_prefix;
  slot.attempts = row.attempts;
  const auto bytes = static_cast<std::int64_t>(row.record_bytes()) + kMemoryOverhead;
  slot.bytes = static_cast<std::uint32_t>(std::min<std::int64_t>(bytes, INT32_MAX));
  slot.topic = topics.number_of(row.topic);
  slot.since_ms = std::max(row.created_at_ms, row.deliver_at_ms.value_or(0));
  if (row.held == store::HeldState::ready) {
    // The tools decide whether a row that goes out again still belongs to its lane.
    slot.has_lane = row.held_lane.has_value();
    slot.lane = row.held_lane.value_or(0);
  } else if (!row.key.is_null() && !row.deliver_at_ms && !row.redriven) {
    slot.has_lane = true;
    slot.lane = store::lane_of(row.topic, row.partition, row.key.view());
  }
  return slot;
}

void Core::State::hand_over(Database& db, Slot& slot, const Decision& decision, std::uint32_t row_index) {
  if (handed_rows == 0) progress_at = now;
  if (!slot.handed) {
    slot.handed = true;
    ++topics.at(slot.topic).open_rows;
    ++handed_rows;
  }
  if (slot.repeated) {
    ++possible_duplicates;
    ++db.possible_duplicates;
  }
  slot.state = SlotState::in_flight;
  slot.producer = decision.producer;
  ProducerGuard& producer = guard(decision.producer);
  slot.generation = producer.generation;
  slot.partition = decision.partition;
  slot.ended_before = producer.ended;
  producer.alone.reset();
  if (producer.in_flight++ == 0) {
    producer.alone = RowAlone{db.index, slot.id, acknowledgements, now};
    if (slot.producer == ProducerKind::probation) producer.ends.clear();
  }
  Partition& partition = topics.at(slot.topic).partition(slot.partition);
  if (partition.rows() == 0) partition.progress_at = now;
  ++partition.in_flight[static_cast<std::size_t>(slot.producer)];
  ++in_flight_rows;
  db.in_flight_bytes = db.in_flight_bytes + slot.bytes;
  if (slot.has_lane && slot.producer == ProducerKind::probation) ++db.lanes.entry(slot.lane).in_flight;
  out->produce.push_back({db.index, row_index, slot.producer, slot.generation, decision.partition});
}

void Core::State::say_parked(const Database& db, const store::Hold& hold, bool let_go) {
  std::string text = "row " + std::to_string(hold.id) + " is parked";
  if (!let_go) text += " and its key waits";
  text += ": " + hold.last_error + " (`outbox-relay ls --state parked` shows it, `retry` and `skip` end it)";
  out->other.emplace_back(command::Say{2, std::move(text), db.index});
}

void Core::State::hold(Database& db, Slot& slot, store::HeldState state, std::optional<std::int64_t> due_at_ms,
                       std::string reason) {
  store::Hold hold;
  hold.id = slot.id;
  hold.nonce_prefix = slot.nonce_prefix;
  hold.state = state;
  hold.attempts = slot.attempts;
  hold.due_at_ms = due_at_ms;
  hold.last_error = std::move(reason);
  HoldNote note;
  note.id = slot.id;
  note.state = state;
  note.due_at_ms = due_at_ms;
  note.topic = slot.topic;
  const bool let_go = state == store::HeldState::parked && options.on_refusal == OnRefusal::skip;
  if (slot.has_lane && !let_go) {
    hold.lane = slot.lane;
    if (state != store::HeldState::blocked) db.lanes.close(slot.lane, slot.id, true);
    LaneEntry& entry = db.lanes.entry(slot.lane);
    ++entry.pending_holds;
    note.release_lane = !entry.certain;
  }
  if (state == store::HeldState::parked) say_parked(db, hold, let_go || !slot.has_lane);
  if (slot.topic != kNoTopic) {
    Topic& topic = topics.at(slot.topic);
    if (state == store::HeldState::waiting) topic.waiting_in.insert(db.index);
    note.topic_epoch = topic.epoch;
  }
  note.lane = hold.lane;
  db.hold_notes.push_back(note);
  db.holds.push_back(std::move(hold));
  slot.state = SlotState::hold_pending;
  resolve(db, slot);
  note_unmarked(db);
}

}  // namespace txbox::relay
