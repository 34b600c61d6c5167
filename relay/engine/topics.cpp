#include "relay/engine/topics.hpp"

#include <algorithm>

namespace txbox::relay {

namespace {

constexpr Backoff kUnreachable{std::chrono::milliseconds(100), std::chrono::milliseconds(5'000)};
constexpr Backoff kPaused{std::chrono::milliseconds(1'000), std::chrono::milliseconds(30'000)};
/// So many questions about a topic stay without an answer, while others are answered, before its rows wait.
constexpr unsigned kTriesBeforePause = 5;
/// One refusal may be a topic that is just being made; from the second one on a description that says
/// "usable" is doubted (a topic may be described by who may not write to it).
constexpr unsigned kRefusalsBeforeDoubt = 2;
/// A row without a key keeps the partition of its predecessors for so many bytes.
constexpr std::int64_t kStickyBytes = 64 << 10;
constexpr std::size_t kTopicNameMax = 249;

std::string paused_text(const Topic& topic) {
  std::string text = "topic " + topic.name + " is paused, its rows wait: " + topic.reason;
  if (topic.reason.starts_with("UNKNOWN_TOPIC_OR_PART"))
    text += "; create it: " + (topic.remedy.empty() ? "the relay never creates a topic" : topic.remedy);
  return text;
}

void forget_cluster_state(Topic& topic) {
  // A topic that was away comes back as a new one: other partitions, other limits, offsets from 0.
  topic.partitions = 0;
  topic.grown_to = 0;
  topic.message_bytes_max = 0;
  topic.compacted = false;
  topic.min_insync_replicas = 0;
  topic.sticky_partition = -1;
  topic.any_unavailable = false;
  for (Partition& partition : topic.by_partition) partition.unavailable = false;
  for (auto& offsets : topic.last_offsets) offsets.clear();
}

bool valid_topic_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > kTopicNameMax || name == "." || name == "..") return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

}  // namespace

std::uint32_t TopicTable::number_of(std::string_view name) {
  if (last_ < topics_.size() && topics_[last_].name == name) return last_;
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) {
    last_ = found->second;
    return last_;
  }
  if (!valid_topic_name(name)) return kNoTopic;
  last_ = static_cast<std::uint32_t>(topics_.size());
  topics_.emplace_back().name = name;
  numbers_.emplace(std::string(name), last_);
  return last_;
}

TopicChange TopicTable::described(SteadyTime now, const event::TopicDescribed& answer,
                                  std::chrono::milliseconds refresh, Commands& out) {
  const std::uint32_t number = number_of(answer.topic);
  if (number == kNoTopic) return TopicChange::none;
  Topic& topic = topics_[number];
  topic.describing = false;
  topic.describe_at = now + refresh;
  if (topic.phase == TopicPhase::stopped) return TopicChange::none;
  // A topic whose partitions are not there yet is not usable yet either.
  const bool nothing_there = answer.facts.state == TopicFacts::State::usable && answer.facts.partitions <= 0;
  const auto state = nothing_there ? TopicFacts::State::unreachable : answer.facts.state;
  if (state != TopicFacts::State::unreachable) reached_at_ = now;
  switch (state) {
    case TopicFacts::State::usable: return usable(now, topic, answer.facts, refresh, out);
    case TopicFacts::State::unreachable:
      // Says nothing about the topic: what was known stays known.
      topic.describe_at = now + kUnreachable.wait(topic.tries++, random_);
      if (topic.tries == 1) topic.silent_since = now;
      // Where Kafka answers about others meanwhile, the rows behind those of this topic need not wait for it.
      if (topic.phase != TopicPhase::unknown || topic.tries < kTriesBeforePause || reached_at_ <= topic.silent_since)
        return TopicChange::none;
      topic.reason = answer.facts.reason;
      topic.phase = TopicPhase::paused;
      out.other.emplace_back(command::Say{2, paused_text(topic)});
      return TopicChange::paused;
    case TopicFacts::State::missing:
    case TopicFacts::State::denied:
      topic.describe_at = now + kPaused.wait(topic.tries++, random_);
      topic.reason = answer.facts.reason;
      topic.remedy = answer.facts.remedy;
      forget_cluster_state(topic);
      if (topic.phase == TopicPhase::paused) return TopicChange::none;
      topic.phase = TopicPhase::paused;
      out.other.emplace_back(command::Say{2, paused_text(topic)});
      return TopicChange::paused;
  }
  return TopicChange::none;
}

TopicChange TopicTable::usable(SteadyTime now, Topic& topic, const TopicFacts& facts, std::chrono::milliseconds refresh,
                               Commands& out) {
  if (facts.message_bytes_max > 0) {
    topic.message_bytes_max = facts.message_bytes_max;
    topic.compacted = facts.compacted;
  }
  if (facts.min_insync_replicas > 0) topic.min_insync_replicas = facts.min_insync_replicas;
  topic.usable_at = now;
  ++topic.answers;
  if (now < topic.trust_after) {
    topic.describe_at = topic.trust_after;
    if (topic.phase == TopicPhase::paused) return TopicChange::none;
    topic.phase = TopicPhase::paused;
    out.other.emplace_back(command::Say{2, paused_text(topic)});
    return TopicChange::paused;
  }
  const TopicPhase before = topic.phase;
  topic.tries = 0;
  topic.describe_at = now + refresh;
  topic.phase = TopicPhase::usable;
  if (topic.partitions == 0) {
    topic.partitions = facts.partitions;
  } else if (facts.partitions > topic.partitions) {
    topic.grown_to = facts.partitions;
  } else if (facts.partitions < topic.partitions) {
    topic.phase = TopicPhase::stopped;
    topic.reason = "INVALID_PARTITIONS: the topic has " + std::to_string(facts.partitions) + " partitions and had " +
                   std::to_string(topic.partitions) + ": it was recreated; start the relay again to go on with it";
    out.other.emplace_back(command::Say{3, "topic " + topic.name + " is stopped: " + topic.reason});
    return TopicChange::paused;
  }
  if (before == TopicPhase::paused) out.other.emplace_back(command::Say{1, "topic " + topic.name + " is usable again"});
  if (before != TopicPhase::usable) {
    ++topic.epoch;
    return TopicChange::usable;
  }
  return topic.grown_to != 0 ? TopicChange::grown : TopicChange::none;
}

void TopicTable::refused(SteadyTime now, std::uint32_t number, const std::string& reason) {
  Topic& topic = topics_[number];
  if (topic.phase != TopicPhase::usable) return;
  topic.phase = TopicPhase::unknown;
  topic.reason = reason;
  ++topic.refusals;
  topic.describe_at = now;
  if (topic.refusals >= kRefusalsBeforeDoubt) {
    topic.trust_after = now + kPaused.wait(topic.refusals - kRefusalsBeforeDoubt, random_);
  }
}

void TopicTable::acknowledged(std::uint32_t number, ProducerKind producer, std::int32_t partition, std::int64_t offset,
                              Commands& out) {
  Topic& topic = topics_[number];
  topic.refusals = 0;
  if (offset < 0 || partition < 0) return;
  auto& offsets = topic.last_offsets[static_cast<std::size_t>(producer)];
  const auto index = static_cast<std::size_t>(partition);
  if (index >= offsets.size()) offsets.resize(index + 1, -1);
  const std::int64_t before = offsets[index];
  offsets[index] = offset;
  if (offset > before || topic.phase == TopicPhase::stopped) return;
  topic.phase = TopicPhase::stopped;
  topic.reason = "OFFSET_OUT_OF_RANGE: partition " + std::to_string(partition) + " went back from offset " +
                 std::to_string(before) + " to " + std::to_string(offset) +
                 ": the topic was recreated or lost records; start the relay again to go on with it";
  out.other.emplace_back(command::Say{3, "topic " + topic.name + " is stopped: " + topic.reason});
}

bool TopicTable::adopt_growth(std::uint32_t number, Commands& out) {
  Topic& topic = topics_[number];
  if (topic.grown_to == 0 || topic.open_rows != 0 || topic.phase != TopicPhase::usable) return false;
  out.other.emplace_back(command::Say{2, "topic " + topic.name + " has " + std::to_string(topic.grown_to) +
                                             " partitions, had " + std::to_string(topic.partitions) +
                                             ": keys may change their partition from here on"});
  topic.partitions = topic.grown_to;
  topic.grown_to = 0;
  topic.sticky_partition = -1;
  ++topic.epoch;
  return true;
}

std::int32_t TopicTable::spread(std::uint32_t number, std::int64_t bytes) {
  Topic& topic = topics_[number];
  if (topic.sticky_partition < 0 || topic.sticky_bytes <= 0 || topic.is_unavailable(topic.sticky_partition)) {
    const auto count = static_cast<std::uint64_t>(topic.partitions);
    // Any partition but the last one, so that a change is a change.
    const std::uint64_t step =
        count > 1 && topic.sticky_partition >= 0 ? 1 + random_.below(count - 1) : random_.below(count);
    const auto from = static_cast<std::uint64_t>(std::max(topic.sticky_partition, 0));
    topic.sticky_partition = static_cast<std::int32_t>((from + step) % count);
    // Such a row is promised no partition: it goes where one takes it.
    for (std::int32_t more = 1; more < topic.partitions && topic.is_unavailable(topic.sticky_partition); ++more) {
      topic.sticky_partition = (topic.sticky_partition + 1) % topic.partitions;
    }
    topic.sticky_bytes = kStickyBytes;
  }
  topic.sticky_bytes -= bytes;
  return topic.sticky_partition;
}

void TopicTable::ask(SteadyTime now, Commands& out) {
  command::Describe describe;
  for (Topic& topic : topics_) {
    if (topic.describing || topic.describe_at > now || topic.phase == TopicPhase::stopped) continue;
    topic.describing = true;
    describe.topics.push_back(topic.name);
  }
  if (!describe.topics.empty()) out.other.emplace_back(std::move(describe));
}

SteadyTime TopicTable::next_ask() const {
  SteadyTime next = SteadyTime::max();
  for (const Topic& topic : topics_) {
    if (!topic.describing && topic.phase != TopicPhase::stopped) next = std::min(next, topic.describe_at);
  }
  return next;
}

void TopicTable::refresh_all(SteadyTime now) {
  for (Topic& topic : topics_) {
    if (topic.phase == TopicPhase::usable) topic.describe_at = now;
  }
}

}  // namespace txbox::relay
