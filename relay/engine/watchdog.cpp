// Rows that kill their connection. A request that a broker will not even read (it is above socket.request.max.bytes)
// makes it close the connection, without a report and for ever: from the rows it looks like an outage. What tells them
// apart is the connection, which comes up each time and dies of what is sent. The first row of each partition that
// lived through several such ends is tried alone on the probation producer; the one with which the connection dies
// again and again is the offence. A broker that is away parks nothing: its connections do not come up.

#include <algorithm>
#include <map>
#include <tuple>

#include <txbox/base/check.hpp>

#include "relay/engine/core_state.hpp"

namespace txbox::relay {

namespace {

/// So many connections in a row die under a row before it is suspected ...
constexpr unsigned kEndsToSuspect = 3;
/// ... and so many under the row alone before it is parked, where something speaks for Kafka in the meantime: it
/// acknowledged other rows, or it answered a question about the topic, and the row is a large one.
constexpr unsigned kEndsToConvict = 5;
constexpr std::uint32_t kLargeRow = 64 << 10;
/// Where nothing does, what kills the connections may be something else: wait longer, and twice as long for each row
/// that was parked on such evidence.
constexpr unsigned kEndsWithoutWitness = 15;
constexpr unsigned kDoublingsMax = 4;
/// Ends that are further apart are not the same trouble: librdkafka connects again within a few seconds.
constexpr std::chrono::seconds kSameTrouble{10};
/// Batches get smaller so many times at most: from 1 MB to 16 KB.
constexpr unsigned kHalvingsMax = 6;

}  // namespace

void Core::State::on_connection_ended(const event::ConnectionEnded& event) {
  ProducerGuard& producer = guard(event.producer);
  if (producer.broken) return;
  BrokerEnds& ends = producer.ends[event.broker];
  if (!event.came_up || now - ends.last > kSameTrouble) ends = {.count = 0, .first = producer.ended, .last = {}};
  if (!event.came_up) return;
  ++producer.ended;
  ++ends.count;
  ends.last = now;
  if (event.producer == ProducerKind::probation && producer.alone) {
    judge_alone(*producer.alone, event.broker, ends.count);
    return;
  }
  if (ends.count >= kEndsToSuspect) accuse(event.producer, event.broker, ends);
}

void Core::State::judge_alone(const RowAlone& row, const std::string& broker, unsigned ends) {
  const Slot* slot = find_in_flight(*databases[row.database], row.row);
  TXBOX_CHECK(slot != nullptr);
  Topic& topic = topics.at(slot->topic);
  if (ends == 1) topic.describe_at = now;
  const bool witness =
      acknowledgements > row.acknowledgements || (slot->bytes >= kLargeRow && topic.usable_at > row.at);
  const unsigned enough =
      witness ? kEndsToConvict : kEndsWithoutWitness << std::min(convictions_without_witness, kDoublingsMax);
  if (ends < enough) return;
  convictions_without_witness = witness ? 0 : convictions_without_witness + 1;
  convict(row, broker, ends);
}

/// The first row of each partition that was in flight before the first of these ends. Rows behind it in its partition
/// wait for it, whatever they are.
void Core::State::accuse(ProducerKind kind, const std::string& broker, BrokerEnds& ends) {
  using Place = std::tuple<DatabaseIndex, std::uint32_t, std::int32_t>;
  std::map<Place, std::int64_t> heads;
  const auto consider = [&](const Database& db, const Slot& slot) {
    if (slot.state != SlotState::in_flight || slot.producer != kind || slot.ended_before > ends.first) return;
    const auto [head, added] = heads.try_emplace({db.index, slot.topic, slot.partition}, slot.id);
    if (!added) head->second = std::min(head->second, slot.id);
  };
  for (const DatabaseIndex number : awake) {
    const Database& db = *databases[number];
    for (std::size_t index = 0; index < db.window.size(); ++index) consider(db, db.window.at(index));
    for (const auto& [id, slot] : db.ready) consider(db, slot);
  }
  // From here on the next few count, for the rows that came later.
  ends = {.count = 0, .first = guard(kind).ended, .last = now};
  if (heads.empty()) return;
  say(2, broker + " closes the connection again and again, and " + std::to_string(heads.size()) +
             " rows lived through it without an answer: tried one by one");
  break_producer(kind);
  // It is no outage, or the rows that could show it would not be read.
  outage = false;
  progress_at = now;
  for (const auto& [place, id] : heads) {
    Database& db = *databases[std::get<0>(place)];
    Slot& slot = *find_in_flight(db, id);
    left_flight(db, slot);
    note_failed(db, slot);
    slot.repeated = true;
    suspect(db, slot);
    suspect_of_killing(db, slot);
    to_unsent(db, slot);
  }
}

void Core::State::suspect_of_killing(Database& db, Slot& slot) {
  if (slot.killer) return;
  slot.killer = true;
  ++killer_suspects;
  const auto ready = db.ready_suspects.find(slot.id);
  if (ready != db.ready_suspects.end()) ready->second.killer = true;
}

/// While connections may die of a row, the probation producer takes one row at a time, the lowest first.
bool Core::State::must_wait_for_turn(ProducerKind kind) {
  if (kind != ProducerKind::probation || killer_suspects == 0 || guard(kind).in_flight == 0) return false;
  turn_wanted = true;
  return true;
}

/// Who was left for the sake of a row that was tried alone comes back now.
void Core::State::next_turn() {
  if (!std::exchange(turn_wanted, false)) return;
  for (const DatabaseIndex index : awake) {
    Database& db = *databases[index];
    db.rewind_wanted = true;
    want_pass(db);
  }
}

void Core::State::no_longer_killer(bool acknowledged) {
  --killer_suspects;
  if (acknowledged) ++trial.acquitted;
  next_turn();
  if (killer_suspects > 0) return;
  // None of the rows was it by itself: what the broker does not take is the batch that they were in.
  if (trial.acquitted > 0 && trial.convicted == 0) batch_halvings = std::min(batch_halvings + 1, kHalvingsMax);
  trial = {};
}

/// `row` goes with its flight, so it is a copy.
void Core::State::convict(const RowAlone row, const std::string& broker, unsigned ends) {
  Database& db = *databases[row.database];
  Slot* slot = find_in_flight(db, row.row);
  ++trial.convicted;
  left_flight(db, *slot);
  guard(ProducerKind::probation).failures = 0;  // A verdict is progress: the next suspect need not wait.
  break_producer(ProducerKind::probation);
  say(2, "row " + std::to_string(slot->id) + " is parked: " + broker + " closed the connection each of " +
             std::to_string(ends) + " times that it was sent alone");
  refuse(db, *slot,
         error_text(kafka_code::kTransport) + " (the broker closed the connection each of " + std::to_string(ends) +
             " times that this row was sent alone: is it above the broker's socket.request.max.bytes?)");
}

}  // namespace txbox::relay
