#include <algorithm>

#include "libinbox/src/consumer/core_state.hpp"

namespace txbox::inbox::consumer {

std::size_t Core::State::share() const {
  return std::max<std::size_t>(1, 2 * options.hand_bytes / std::max<std::size_t>(1, partitions.size()));
}

bool Core::State::hand_full() const {
  return ready_messages >= options.batch_messages || ready_bytes >= options.hand_bytes;
}

void Core::State::recount() {
  ready_messages = 0;
  ready_bytes = 0;
  waits = 0;
  for (const auto& [place, partition] : partitions) {
    if (partition.wait_until) {
      ++waits;
      continue;
    }
    ready_messages += partition.hand.size();
    ready_bytes += partition.hand_bytes;
  }
}

void Core::State::hold_back(Partition& partition) {
  if (partition.paused) return;
  partition.paused = true;
  out->emplace_back(command::Pause{partition.place});
}

void Core::State::let_on() {
  for (auto& [place, partition] : partitions) {
    if (!partition.paused || partition.wait_until) continue;
    if (partition.hand.size() > options.batch_messages / 2 || partition.hand_bytes > share() / 2) continue;
    partition.paused = false;
    out->emplace_back(command::Resume{place});
  }
}

void Core::State::wait(Partition& partition, SteadyTime until) {
  partition.wait_until = until;
  hold_back(partition);
  recount();
}

void Core::State::look_at_head(Partition& partition) {
  if (partition.hand.empty() || partition.wait_until) return;
  const Tries* tries = partition.tries_of(partition.hand.front().offset);
  if (tries != nullptr && tries->not_before > now) wait(partition, tries->not_before);
}

void Core::State::end_waits() {
  if (waits == 0) return;
  bool ended = false;
  for (auto& [place, partition] : partitions) {
    if (!partition.wait_until || *partition.wait_until > now) continue;
    partition.wait_until.reset();
    ended = true;
  }
  if (!ended) return;
  progressed = true;
  glanced = true;
  recount();
  let_on();
}

void Core::State::on_arrived(const event::Arrived& what) {
  polled_at = now;
  const auto found = phase == Phase::running ? partitions.find(what.place) : partitions.end();
  if (found == partitions.end() || what.offset < found->second.position) {
    out->emplace_back(command::Forget{what.place, what.offset});
    return;
  }
  Partition& partition = found->second;
  if (!partition.hand.empty() && what.offset <= partition.hand.back().offset) {
    const bool known = std::any_of(partition.hand.begin(), partition.hand.end(),
                                   [&what](const Message& message) { return message.offset == what.offset; });
    if (!known) out->emplace_back(command::Forget{what.place, what.offset});
    return;
  }
  Message message;
  message.offset = what.offset;
  message.bytes = what.bytes;
  message.has_id = what.has_id;
  message.has_prepare = message.to_prepare = what.has_prepare;
  if (what.has_prepare) any_prepare = true;
  partition.hand.push_back(std::move(message));
  partition.hand_bytes += what.bytes;
  if (!partition.wait_until) {
    ++ready_messages;
    ready_bytes += what.bytes;
  }
  if (partition.hand.size() == 1) look_at_head(partition);
  if (partition.hand.size() >= 2 * options.batch_messages || partition.hand_bytes >= share()) hold_back(partition);
}

void Core::State::on_end(const event::EndReached& what) {
  polled_at = now;
  const auto found = phase == Phase::running ? partitions.find(what.place) : partitions.end();
  if (found == partitions.end()) return;
  found->second.end = std::max(found->second.end, what.offset);
}

void Core::State::on_out_of_range(const event::OutOfRange& what) {
  polled_at = now;
  if (phase != Phase::running || !partitions.contains(what.place)) return;
  say(LogLevel::warning, name_of(what.place) + ": Kafka has nothing at the position (" + what.reason +
                             "); looking where the topic begins and ends");
  want(Leave::reload);
}

}  // namespace txbox::inbox::consumer
