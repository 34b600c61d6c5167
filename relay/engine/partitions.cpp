// Partitions that take nothing: they have no leader, or fewer replicas in sync than their topic asks for. librdkafka
// tries such rows again for ever and without a word, and they would fill the window and keep everything behind them
// back. What tells is the silence of the partition, together with what Kafka says of it when it is asked: then its rows
// wait in outbox_held like those of a topic that is missing, until Kafka says otherwise. A silence alone says nothing
// (a broker that is slow or away), and is no reason to list a whole backlog.

#include <algorithm>
#include <utility>

#include "relay/engine/core_state.hpp"

namespace txbox::relay {

namespace {
/// A partition that acknowledged nothing for so long while rows were in flight is asked about.
constexpr std::chrono::milliseconds kSilence{1'000};
constexpr Backoff kLookAgain{std::chrono::milliseconds(1'000), std::chrono::milliseconds(5'000)};
/// How often Kafka is asked whether it takes something there again.
constexpr std::chrono::milliseconds kWhileUnavailable{2'000};
/// What is in flight to other partitions is given so long to be acknowledged, or it would be sent twice.
constexpr std::chrono::milliseconds kRetirement{2'000};
}  // namespace

void Core::State::watch_partitions() {
  for (const ProducerKind kind : {ProducerKind::main, ProducerKind::probation}) finish_retirement(kind);
  if (handed_rows == 0 || now < partitions_looked_at + kPartitionLooks) return;
  partitions_looked_at = now;
  for (std::uint32_t number = 0; number < topics.size(); ++number) {
    Topic& topic = topics.at(number);
    // One that does not answer is asked at a pace of its own.
    if (topic.phase != TopicPhase::usable || topic.tries > 0 || topic.describing) continue;
    const bool silent =
        std::any_of(topic.by_partition.begin(), topic.by_partition.end(), [&](const Partition& partition) {
          return !partition.unavailable && partition.rows() > 0 && now - partition.progress_at >= kSilence;
        });
    if (!silent) continue;
    const SteadyTime look_at = topic.usable_at + kLookAgain.wait(topic.silent_looks, random);
    if (look_at >= topic.describe_at) continue;
    topic.describe_at = look_at;
    ++topic.silent_looks;
  }
}

/// What Kafka just said of the topic's partitions.
void Core::State::judge_partitions(std::uint32_t number, const TopicFacts& facts) {
  Topic& topic = topics.at(number);
  if (topic.phase != TopicPhase::usable || facts.state != TopicFacts::State::usable) return;
  const std::size_t told = std::min(facts.by_partition.size(), topic.by_partition.size());
  for (std::size_t index = 0; index < told; ++index) {
    Partition& partition = topic.by_partition[index];
    const TopicFacts::Replicas& replicas = facts.by_partition[index];
    const auto id = static_cast<std::int32_t>(index);
    const bool no_leader = replicas.in_sync == 0;
    // A topic that asks for more replicas than it has is not short of any: newer brokers then take what there are.
    const bool too_few = replicas.in_sync < std::min(topic.min_insync_replicas, replicas.assigned);
    if (!no_leader && !too_few) {
      if (partition.unavailable) call_available(number, id);
      continue;
    }
    if (partition.unavailable || partition.rows() == 0 || now - partition.progress_at < kSilence) continue;
    const std::string where = " (partition " + std::to_string(id);
    call_unavailable(topic, id,
                     no_leader ? error_text(kafka_code::kLeaderNotAvailable) + where + " has no leader)"
                               : error_text(kafka_code::kNotEnoughReplicas) + where + " has " +
                                     std::to_string(replicas.in_sync) + " in sync, the topic asks for " +
                                     std::to_string(topic.min_insync_replicas) + ")");
  }
  if (topic.any_unavailable) topic.describe_at = std::min<SteadyTime>(topic.describe_at, now + kWhileUnavailable);
}

void Core::State::call_unavailable(Topic& topic, std::int32_t number, std::string reason) {
  Partition& partition = topic.partition(number);
  partition.unavailable = topic.any_unavailable = true;
  partition.reason = std::move(reason);
  say(2, "topic " + topic.name + ": the rows of one partition wait, the others go on: " + partition.reason);
  for (const ProducerKind kind : {ProducerKind::main, ProducerKind::probation}) {
    if (partition.in_flight[static_cast<std::size_t>(kind)] > 0) retire(kind);
  }
}

void Core::State::call_available(std::uint32_t topic_number, std::int32_t number) {
  Topic& topic = topics.at(topic_number);
  topic.partition(number).unavailable = false;
  topic.any_unavailable = std::any_of(topic.by_partition.begin(), topic.by_partition.end(),
                                      [](const Partition& partition) { return partition.unavailable; });
  say(1, "topic " + topic.name + ": partition " + std::to_string(number) + " takes records again");
  // Holds that are on their way to the database are released as well when they are there.
  ++topic.epoch;
  release_topic(topic_number);
}

/// The rows that went to unavailable partitions can only be had back from a producer that ends. The others of it are
/// waited for a while: sent again they would be in Kafka twice.
void Core::State::retire(ProducerKind kind) {
  ProducerGuard& producer = guard(kind);
  if (producer.broken || stopping) return;
  producer.broken = true;
  producer.retires_by = now + kRetirement;
}

void Core::State::finish_retirement(ProducerKind kind) {
  ProducerGuard& producer = guard(kind);
  if (!producer.retires_by || stopping) return;
  if (now < *producer.retires_by && producer.in_flight > rows_at_unavailable(kind)) return;
  producer.retires_by.reset();
  ++producer_rebuilds;
  out->other.emplace_back(command::Rebuild{.producer = kind,
                                           .next_generation = producer.generation + 1,
                                           .wait = std::chrono::milliseconds(0),
                                           .batch_halvings = batch_halvings});
}

std::int64_t Core::State::rows_at_unavailable(ProducerKind kind) {
  std::int64_t rows = 0;
  for (std::uint32_t number = 0; number < topics.size(); ++number) {
    const Topic& topic = topics.at(number);
    if (!topic.any_unavailable) continue;
    for (const Partition& partition : topic.by_partition) {
      if (partition.unavailable) rows += partition.in_flight[static_cast<std::size_t>(kind)];
    }
  }
  return rows;
}

}  // namespace txbox::relay
