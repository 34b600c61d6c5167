#include "relay/engine/kafka_side.hpp"

#include <algorithm>

#include <txbox/base/check.hpp>
#include <txbox/base/clock.hpp>
#include <txbox/base/error.hpp>

#include "relay/engine/outcome.hpp"

namespace txbox::relay {

namespace {

using namespace std::chrono_literals;

// After a purge every report comes within a millisecond; the bound is for a client that has lost its mind.
constexpr auto kPurgeDeadline = 3s;
// A full queue only happens when the window is wider than librdkafka's queue; it empties at the broker's pace.
constexpr auto kQueueFullStep = 10ms;
constexpr int kQueueFullSteps = 100;
// New properties wait so long for what is in flight; sent again after it, it may be in Kafka twice.
constexpr auto kChangePatience = 5s;
// librdkafka's defaults of batch.size and message.max.bytes, which stand where no topic says otherwise.
constexpr std::int64_t kDefaultBytes = 1'000'000;
// What may be sent to a topic that does not tell its limit: Kafka then refuses by itself. A request above a broker's
// socket.request.max.bytes (100 MiB by default) would look like an outage instead.
constexpr std::int64_t kUnknownMessageBytes = 100'000'000;
// No broker that takes records at all takes requests of this size only.
constexpr std::int64_t kLeastBatchBytes = 16'000;
// Reports served before the loop looks at its other descriptors again.
constexpr std::size_t kReportsAtOnce = 10'000;

// A tag carries the row and its database through librdkafka.
constexpr unsigned kRowBits = 48;
constexpr std::int64_t kRowLimit = std::int64_t{1} << kRowBits;

std::uint64_t tag_of(DatabaseIndex database, std::int64_t row) {
  if (row < 0 || row >= kRowLimit) throw Error(ErrorCode::corrupt, "an outbox id is far above what commits can reach");
  return (std::uint64_t{database} << kRowBits) | static_cast<std::uint64_t>(row);
}

std::int64_t or_default(std::int64_t bytes) { return bytes == 0 ? kDefaultBytes : bytes; }

std::size_t index_of(ProducerKind kind) noexcept { return static_cast<std::size_t>(kind); }

event::Report report_of(ProducerKind producer, std::uint32_t generation, const kafka::DeliveryReport& delivery) {
  event::Report report;
  report.database = static_cast<DatabaseIndex>(delivery.tag >> kRowBits);
  report.row = static_cast<std::int64_t>(delivery.tag & (static_cast<std::uint64_t>(kRowLimit) - 1));
  report.producer = producer;
  report.generation = generation;
  report.kind = classify(delivery.error, delivery.persistence);
  report.error = delivery.error;
  report.partition = delivery.partition;
  report.offset = delivery.offset;
  return report;
}

/// A record that was not taken is certainly not in the log.
kafka::DeliveryReport not_taken(std::uint64_t tag, std::int32_t partition, int error) {
  return {.tag = tag, .error = error, .partition = partition};
}

KeptRecord whole(const std::string& topic, std::int32_t partition, const store::OutboxRow& row,
                 std::span<const kafka::HeaderView> headers, std::uint64_t tag) {
  KeptRecord record{topic, partition, Bytes(row.key), Bytes(row.payload), {}, tag};
  for (const kafka::HeaderView& header : headers) record.headers.emplace_back(header.name, Bytes(header.value));
  return record;
}

}  // namespace

KafkaSide::KafkaSide(kafka::ProducerOptions options, std::string id_header)
    : options_(std::move(options)), headers_(std::move(id_header)) {}

KafkaSide::~KafkaSide() = default;

void KafkaSide::hand_over(std::span<const command::Produce> produces, std::span<const store::OutboxRow> rows,
                          std::vector<event::Report>& out) {
  for (const command::Produce& produce : produces) {
    Slot& slot = slots_[index_of(produce.producer)];
    if (!slot.producer && slot.phase == Phase::running) {
      slot.generation = produce.generation;
      make(produce.producer);
    }
    if (slot.closed || slot.phase != Phase::running || slot.generation != produce.generation) continue;
    const store::OutboxRow& row = rows[produce.row_index];
    if (const int error = hand_over_one(slot, produce, row); error != 0) {
      slot.closed = true;
      const std::uint64_t tag = tag_of(produce.database, row.id);
      out.push_back(report_of(produce.producer, slot.generation, not_taken(tag, produce.partition, error)));
    }
  }
}

int KafkaSide::hand_over_one(Slot& slot, const command::Produce& produce, const store::OutboxRow& row) {
  const auto headers = headers_.of(row);
  if (!headers) return kafka_error::kInvalidRecord;
  const std::uint64_t tag = tag_of(produce.database, row.id);
  const std::string& topic = topic_name(row.topic);
  if (slot.firsts.judge(topic, produce.partition, tag, system_clock().steady_now()) == FirstRecords::Verdict::keep) {
    slot.firsts.keep(whole(topic, produce.partition, row, *headers, tag));
    return 0;
  }
  const auto attempt = [&] {
    return slot.producer->produce(topic, produce.partition, row.key, row.payload, *headers, tag);
  };
  int error = attempt();
  for (int step = 0; error == kafka_error::kQueueFull && step < kQueueFullSteps; ++step) {
    slot.producer->poll(kQueueFullStep, deliveries_);
    gather_from(produce.producer, early_);
    error = attempt();
  }
  return error;
}

/// The rows of these records are in flight already as far as the core knows. A queue that is full of them is wider than
/// the window, so they always fit.
void KafkaSide::hand_over_kept(ProducerKind kind, const std::deque<KeptRecord>& records,
                               std::vector<event::Report>& out) {
  Slot& slot = slots_[index_of(kind)];
  for (const KeptRecord& record : records) {
    // Whoever is left out has no report; ProducerReady settles it.
    if (slot.closed || slot.phase != Phase::running) return;
    const int error = slot.producer->produce(record.topic, record.partition, record.key, record.payload,
                                             record.header_views(), record.tag);
    if (error == 0) continue;
    slot.closed = true;
    out.push_back(report_of(kind, slot.generation, not_taken(record.tag, record.partition, error)));
  }
}

const std::string& KafkaSide::topic_name(std::string_view topic) {
  if (last_topic_ != topic) last_topic_.assign(topic);
  return last_topic_;
}

bool KafkaSide::gather(std::vector<event::Report>& out) {
  out.insert(out.end(), early_.begin(), early_.end());
  early_.clear();
  const bool all_of_main = gather_from(ProducerKind::main, out);
  const bool all_of_probation = gather_from(ProducerKind::probation, out);
  return all_of_main && all_of_probation;
}

bool KafkaSide::gather_from(ProducerKind kind, std::vector<event::Report>& out) {
  Slot& slot = slots_[index_of(kind)];
  if (!slot.producer) return true;
  bool all = false;
  while (!all && deliveries_.size() < kReportsAtOnce) {
    const std::size_t before = deliveries_.size();
    slot.producer->poll(0ms, deliveries_);
    all = deliveries_.size() == before;
  }
  out.reserve(out.size() + deliveries_.size());
  for (const kafka::DeliveryReport& delivery : deliveries_) {
    out.push_back(report_of(kind, slot.generation, delivery));
    if (slot.firsts.waiting() && out.back().kind == ReportKind::sent) {
      hand_over_kept(kind, slot.firsts.answered(delivery.tag), out);
    }
  }
  deliveries_.clear();
  // After a fatal error some records never report by themselves; a purge makes each of them answer.
  if (slot.phase == Phase::running && slot.producer->fatal() && slot.producer->in_queue() > 0) {
    slot.producer->purge();
    slot.closed = true;
  }
  return all;
}

void KafkaSide::rebuild(const command::Rebuild& wish, SteadyTime now) {
  Slot& slot = slots_[index_of(wish.producer)];
  TXBOX_CHECK(slot.phase == Phase::running);
  slot.next_generation = wish.next_generation;
  batch_halvings_ = wish.batch_halvings;
  slot.not_before = now + wish.wait;
  slot.purge_deadline = now + kPurgeDeadline;
  slot.phase = Phase::purging;
  slot.closed = true;
  if (slot.producer) slot.producer->purge();
}

void KafkaSide::advance(SteadyTime now, std::vector<event::ProducerReady>& out) {
  for (const ProducerKind kind : {ProducerKind::main, ProducerKind::probation}) {
    Slot& slot = slots_[index_of(kind)];
    replace_outdated(kind, now);
    if (slot.phase == Phase::purging &&
        (!slot.producer || slot.producer->in_queue() == 0 || now >= slot.purge_deadline)) {
      slot.producer.reset();
      slot.phase = Phase::waiting;
    }
    if (slot.phase == Phase::waiting && now >= slot.not_before) {
      slot.phase = Phase::running;
      slot.generation = slot.next_generation;
      make(kind);
      out.push_back({kind, slot.generation});
    }
  }
}

SteadyTime KafkaSide::next_deadline() const noexcept {
  SteadyTime next = SteadyTime::max();
  for (const Slot& slot : slots_) {
    if (slot.phase == Phase::purging) next = std::min(next, slot.purge_deadline);
    if (slot.phase == Phase::waiting) next = std::min(next, slot.not_before);
    if (slot.phase == Phase::running && !slot.closed) next = std::min(next, slot.replace_by);
  }
  return next;
}

bool KafkaSide::know_topic(const std::string& topic, const TopicFacts& facts) {
  if (facts.state != TopicFacts::State::usable) return true;
  std::int64_t& limit = topic_limits_[topic];
  if (facts.message_bytes_max > 0) limit = facts.message_bytes_max;
  for (Slot& slot : slots_) {
    if (slot.producer) slot.producer->add_topic(topic);
  }
  return fit();
}

bool KafkaSide::fit() {
  for (const ProducerKind kind : {ProducerKind::main, ProducerKind::probation}) {
    Slot& slot = slots_[index_of(kind)];
    // A producer under way to its rebuild takes the new limits along.
    if (!slot.producer || slot.phase != Phase::running || fits(slot)) continue;
    if (slot.closed || slot.producer->in_queue() > 0) return false;
    // Nothing is in flight, so nobody can tell the new producer from the old one: it keeps the generation.
    slot.producer.reset();
    make(kind);
  }
  return true;
}

void KafkaSide::use(kafka::Properties properties, SteadyTime now) {
  options_.properties = std::move(properties);
  for (Slot& slot : slots_) {
    if (slot.producer) slot.replace_by = now + kChangePatience;
  }
}

bool KafkaSide::changing() const noexcept {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return slot.replace_by != SteadyTime::max() && slot.phase == Phase::running;
  });
}

void KafkaSide::replace_outdated(ProducerKind kind, SteadyTime now) {
  Slot& slot = slots_[index_of(kind)];
  // One under way to its rebuild takes the new properties along.
  if (slot.replace_by == SteadyTime::max() || slot.phase != Phase::running) return;
  if (slot.producer->in_queue() == 0) {
    // Nothing is in flight, so nobody can tell the new producer from the old one: it keeps the generation.
    slot.producer.reset();
    make(kind);
  } else if (now >= slot.replace_by && !slot.closed) {
    // With the old credentials it might never be acknowledged. What is given back makes the core ask for a rebuild.
    slot.producer->purge();
    slot.closed = true;
  }
}

KafkaSide::Limits KafkaSide::wanted_limits() const noexcept {
  Limits limits;
  for (const auto& [topic, bytes] : topic_limits_) {
    const std::int64_t batch = bytes > 0 ? bytes : kDefaultBytes;
    limits.batch_bytes = limits.batch_bytes == 0 ? batch : std::min(limits.batch_bytes, batch);
    limits.message_bytes = std::max(limits.message_bytes, bytes > 0 ? bytes : kUnknownMessageBytes);
  }
  return limits;
}

bool KafkaSide::fits(const Slot& slot) const noexcept {
  const Limits wanted = wanted_limits();
  // Only the direction that endangers something counts: a batch too large, or a record that may go and would not.
  const bool batch_fits = std::min(or_default(slot.batch_bytes), kDefaultBytes) <= or_default(wanted.batch_bytes);
  return batch_fits && or_default(wanted.message_bytes) <= or_default(slot.message_bytes);
}

void KafkaSide::make(ProducerKind kind) {
  Slot& slot = slots_[index_of(kind)];
  const Limits limits = wanted_limits();
  options_.one_record_a_batch = kind == ProducerKind::probation;
  options_.batch_bytes_max = slot.batch_bytes = limits.batch_bytes;
  if (kind == ProducerKind::main && batch_halvings_ > 0) {
    const std::int64_t most = std::min(or_default(limits.batch_bytes), kDefaultBytes);
    const std::int64_t smaller = std::max(kLeastBatchBytes, most >> batch_halvings_);
    options_.batch_bytes_max = slot.batch_bytes = std::min(most, smaller);
  }
  options_.message_bytes_max = slot.message_bytes = limits.message_bytes;
  slot.closed = false;
  slot.replace_by = SteadyTime::max();
  slot.firsts.clear();
  slot.producer = std::make_unique<kafka::Producer>(options_);
  for (const auto& [topic, bytes] : topic_limits_) slot.producer->add_topic(topic);
}

std::array<int, 2> KafkaSide::report_descriptors() const noexcept {
  std::array<int, 2> descriptors{-1, -1};
  for (std::size_t index = 0; index < slots_.size(); ++index) {
    if (slots_[index].producer) descriptors[index] = slots_[index].producer->report_descriptor();
  }
  return descriptors;
}

void KafkaSide::drain_report_descriptors() noexcept {
  for (Slot& slot : slots_) {
    if (slot.producer) slot.producer->drain_report_descriptor();
  }
}

std::size_t KafkaSide::in_queue() const noexcept {
  std::size_t records = 0;
  for (const Slot& slot : slots_) records += slot.producer ? slot.producer->in_queue() : 0;
  return records;
}

kafka::ConnectionTally KafkaSide::connection_tally() const {
  kafka::ConnectionTally all;
  for (const Slot& slot : slots_) {
    if (!slot.producer) continue;
    kafka::ConnectionTally tally = slot.producer->connection_tally();
    all.made += tally.made;
    all.failed += tally.failed;
    if (tally.failed > 0) all.last_failed = std::move(tally.last_failed);
  }
  return all;
}

std::vector<event::ConnectionEnded> KafkaSide::take_connection_ends() {
  std::vector<event::ConnectionEnded> ends;
  for (const ProducerKind kind : {ProducerKind::main, ProducerKind::probation}) {
    const Slot& slot = slots_[index_of(kind)];
    if (!slot.producer || slot.phase != Phase::running) continue;
    for (kafka::ConnectionEnd& end : slot.producer->take_connection_ends()) {
      ends.push_back({kind, std::move(end.broker), end.came_up});
    }
  }
  return ends;
}

std::optional<kafka::ClientError> KafkaSide::take_client_error() {
  std::optional<kafka::ClientError> newest;
  for (Slot& slot : slots_) {
    if (!slot.producer) continue;
    if (auto error = slot.producer->take_client_error()) newest = std::move(error);
  }
  return newest;
}

}  // namespace txbox::relay
