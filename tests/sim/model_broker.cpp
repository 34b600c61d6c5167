#include "model_broker.hpp"

#include <algorithm>

#include "model_store.hpp"
#include "trace.hpp"

namespace txbox::sim {

using relay::ReportKind;
using State = relay::TopicFacts::State;

namespace {
constexpr std::size_t kRequestsInFlight = 5;
constexpr std::size_t kBatchRows = 4;
constexpr int kTopicCode = 3;
constexpr int kDeniedCode = 29;
constexpr int kFatalCode = -150;
constexpr int kPurgedCode = -152;
constexpr int kRecordCode = 87;

int code_of(State state) { return state == State::denied ? kDeniedCode : kTopicCode; }
}  // namespace

relay::TopicFacts ModelTopic::facts() const {
  relay::TopicFacts told;
  told.state = state;
  told.partitions = partitions;
  told.message_bytes_max = message_bytes_max;
  told.compacted = compacted;
  told.min_insync_replicas = 2;
  for (std::int32_t number = 0; number < partitions; ++number) {
    const std::int32_t in_sync = !closed.contains(number) ? 3 : without_leader ? 0 : 1;
    told.by_partition.push_back({in_sync, 3});
  }
  return told;
}

ModelProducer& ModelBroker::add_producer(relay::ProducerKind kind, std::uint32_t generation) {
  ModelProducer& producer = producers_.emplace_back();
  producer.kind = kind;
  producer.generation = generation;
  return producer;
}

void ModelBroker::report(ModelProducer& producer, const ModelRecord& record, ReportKind kind, int error,
                         std::int64_t offset) {
  if (!producer.alive || producer.unreported.erase({record.database, record.row}) == 0) return;
  producer.reports.push_back({record.database, record.row, producer.kind, producer.generation, kind, error,
                              kind == ReportKind::sent ? record.partition : -1, offset});
}

bool ModelBroker::produce(ModelProducer& producer, const ModelRecord& record) {
  const std::pair key(record.database, record.row);
  for (const ModelProducer& other : producers_) {
    if (other.alive && other.unreported.contains(key)) violated("a row is in flight twice");
  }
  producer.unreported.insert(key);
  const ModelTopic& topic = topics.at(record.topic);
  if (producer.fatal) {
    report(producer, record, ReportKind::unknown, kFatalCode, -1);
    return false;
  }
  if (topic.state != State::usable || record.partition >= topic.partitions) {
    report(producer, record, ReportKind::topic_refused, code_of(topic.state), -1);
    return false;
  }
  if (record.poison && random_.below(4) == 0) {
    // Above the client's own limit: refused without a word to the broker, and nothing is cut.
    report(producer, record, ReportKind::record_refused, 10, -1);
    return false;
  }
  producer.streams[{record.topic, record.partition}].queue.push_back(record);
  return true;
}

void ModelBroker::send(ModelProducer& producer, ModelStream& stream) {
  if (stream.queue.empty() || stream.requests.size() >= kRequestsInFlight) return;
  std::size_t most = producer.kind == relay::ProducerKind::probation ? 1 : 1 + random_.below(kBatchRows);
  if (!stream.acknowledged) {
    // The runner's part: the first record goes alone (relay/engine/first_records.hpp).
    if (!stream.requests.empty()) return;
    most = 1;
  }
  std::vector<ModelRecord> batch;
  while (!stream.queue.empty() && batch.size() < most) {
    batch.push_back(stream.queue.front());
    stream.queue.pop_front();
  }
  stream.requests.push_back(std::move(batch));
}

void ModelBroker::answer(ModelProducer& producer, const std::vector<ModelRecord>& batch, std::int64_t first_offset) {
  for (const ModelRecord& record : batch) {
    report(producer, record, ReportKind::sent, 0, first_offset < 0 ? -1 : first_offset++);
  }
}

void ModelBroker::process(ModelProducer& producer, const std::string& topic_name, ModelStream& stream, bool faults) {
  ModelTopic& topic = topics.at(topic_name);
  if (!stream.requests.empty() && topic.closed.contains(stream.requests.front().front().partition)) {
    // The client tries again for ever; of one that is gone the request is gone as well.
    if (!producer.alive) stream.cut = true;
    return;
  }
  if (stream.landed > 0 && random_.below(2) == 0) {
    // Sent again, recognised by its sequence number: acknowledged without an offset.
    answer(producer, stream.requests.front(), -1);
    stream.acknowledged = true;
    stream.requests.pop_front();
    --stream.landed;
    return;
  }
  if (stream.landed >= stream.requests.size() || stream.cut) return;
  const std::vector<ModelRecord> batch = stream.requests[stream.landed];
  const std::int32_t partition = batch.front().partition;
  if (topic.state != State::usable || partition >= topic.partitions) {
    for (const ModelRecord& record : batch)
      report(producer, record, ReportKind::topic_refused, code_of(topic.state), -1);
    stream.requests.erase(stream.requests.begin() + static_cast<std::ptrdiff_t>(stream.landed));
    stream.cut = stream.known;
    producer.fatal = true;
    return;
  }
  if (std::any_of(batch.begin(), batch.end(), [](const ModelRecord& record) { return record.poison; })) {
    for (const ModelRecord& record : batch) report(producer, record, ReportKind::record_refused, kRecordCode, -1);
    stream.requests.erase(stream.requests.begin() + static_cast<std::ptrdiff_t>(stream.landed));
    stream.cut = stream.known;
    producer.fatal = true;
    return;
  }
  if (std::any_of(batch.begin(), batch.end(), [](const ModelRecord& record) { return record.killer; })) {
    producer.ended.push_back(true);  // No report, and the same again for ever.
    return;
  }
  const std::int64_t first_offset = topic.ends[static_cast<std::size_t>(partition)];
  for (ModelRecord record : batch) {
    ++topic.ends[static_cast<std::size_t>(partition)];
    record.landed_at = ++clock_;
    if (tracing()) {
      trace("        landed " + std::to_string(record.database) + "/" + std::to_string(record.row) +
            (producer.alive ? "" : " late"));
    }
    landed_.push_back(record);
  }
  stream.known = true;
  const bool answer_lost = !producer.alive || stream.landed > 0 || (faults && random_.below(5) == 0);
  if (answer_lost) {
    ++stream.landed;
    return;
  }
  answer(producer, batch, first_offset);
  stream.acknowledged = true;
  stream.requests.pop_front();
}

void ModelBroker::act(bool faults) {
  // The living are served first; what the dead left on the wire lands now and then.
  std::vector<ModelProducer*> candidates;
  const bool living = random_.below(8) != 0;
  for (ModelProducer& candidate : producers_) {
    if (candidate.alive == living) candidates.push_back(&candidate);
  }
  if (candidates.empty()) return;
  ModelProducer& producer = *candidates[random_.below(candidates.size())];
  if (producer.streams.empty()) return;
  if (faults && producer.alive && random_.below(150) == 0) producer.fatal = true;
  auto stream = producer.streams.begin();
  std::advance(stream, static_cast<std::ptrdiff_t>(random_.below(producer.streams.size())));
  if (producer.alive && !producer.fatal && random_.below(2) == 0) {
    send(producer, stream->second);
    return;
  }
  process(producer, stream->first.first, stream->second, faults);
  // A producer that died of itself tells so by the report of some row.
  if (producer.alive && producer.fatal && !producer.unreported.empty() && random_.below(3) == 0) {
    for (auto& [key, dead] : producer.streams) {
      if (dead.queue.empty()) continue;
      report(producer, dead.queue.front(), ReportKind::unknown, kPurgedCode, -1);
      dead.queue.pop_front();
      return;
    }
  }
}

void ModelBroker::flap(ModelProducer& producer) {
  // A broker that starts may die once more before it takes a record; in between nobody listens.
  for (std::uint64_t more = random_.below(6); more > 0; --more) {
    for (std::uint64_t ups = random_.below(3); ups > 0; --ups) producer.ended.push_back(true);
    producer.ended.push_back(false);
  }
}

void ModelBroker::fail_queued(ModelProducer& producer, const std::string& topic) {
  for (auto& [key, stream] : producer.streams) {
    if (key.first != topic) continue;
    for (const ModelRecord& record : stream.queue) {
      report(producer, record, ReportKind::topic_refused, code_of(topics.at(topic).state), -1);
    }
    stream.queue.clear();
  }
}

void ModelBroker::purge(ModelProducer& producer) {
  std::vector<ModelRecord> left;
  for (auto& [key, stream] : producer.streams) {
    left.insert(left.end(), stream.queue.begin(), stream.queue.end());
    for (const auto& batch : stream.requests) left.insert(left.end(), batch.begin(), batch.end());
    stream.queue.clear();
  }
  for (const ModelRecord& record : left) report(producer, record, ReportKind::unknown, kPurgedCode, -1);
  if (!producer.unreported.empty()) violated("the model lost a report");
}

void ModelBroker::crash(ModelProducer& producer) {
  producer.alive = false;
  producer.reports.clear();
  producer.ended.clear();
  producer.unreported.clear();
  for (auto& [key, stream] : producer.streams) stream.queue.clear();
}

void ModelBroker::delete_topic(const std::string& topic) {
  topics.at(topic).state = State::missing;
  // What was on the wire to it dies with it.
  for (ModelProducer& producer : producers_) {
    if (producer.alive) continue;
    for (auto& [key, stream] : producer.streams) {
      if (key.first == topic) stream.cut = true;
    }
  }
}

void ModelBroker::make_topic(const std::string& name, std::int32_t partitions) {
  ModelTopic& topic = topics[name];
  topic.state = State::usable;
  topic.partitions = partitions;
  topic.ends.assign(static_cast<std::size_t>(partitions), 0);
}

bool ModelBroker::idle() const {
  return std::all_of(producers_.begin(), producers_.end(),
                     [](const ModelProducer& producer) { return !producer.alive || producer.unreported.empty(); });
}

}  // namespace txbox::sim
