// What the core counts of its own work, for people who watch it. Nothing here decides anything.

#include <algorithm>

#include "relay/engine/core_state.hpp"

namespace txbox::relay {

/// Where the receipt goes to the store: from there on no acknowledgement is taken back.
void Core::State::count_published(Database& db, const Slot& slot, const store::Receipt& receipt) {
  db.published.add(slot.topic);
  commit_to_ack.add(std::chrono::milliseconds(receipt.sent_at_ms - slot.since_ms));
}

CoreFigures Core::figures() const {
  State& state = *state_;
  CoreFigures figures;
  figures.commit_to_ack = state.commit_to_ack;
  for (std::uint32_t number = 0; number < state.topics.size(); ++number) {
    const Topic& topic = state.topics.at(number);
    if (topic.phase != TopicPhase::paused && topic.phase != TopicPhase::stopped) continue;
    figures.paused_topics.push_back({topic.name, topic.reason});
  }
  if (state.handed_rows == 0) return figures;
  std::optional<std::int64_t>& oldest = figures.oldest_unacknowledged_ms;
  const auto look_at = [&oldest](const Slot& slot) {
    if (slot.handed) oldest = std::min(oldest.value_or(slot.since_ms), slot.since_ms);
  };
  for (const DatabaseIndex index : state.awake) {
    const Database& db = *state.databases[index];
    for (std::size_t position = 0; position < db.window.size(); ++position) look_at(db.window.at(position));
    for (const auto& [id, slot] : db.ready) look_at(slot);
  }
  return figures;
}

DatabaseFigures Core::figures_of(DatabaseIndex database) const {
  DatabaseFigures figures;
  if (!state_->knows(database)) return figures;
  const Database& db = *state_->databases[database];
  for (const auto& [number, count] : db.published.counts())
    figures.published.emplace_back(state_->topics.at(number).name, count);
  if (db.published.others() > 0) figures.published.emplace_back(kOtherTopics, db.published.others());
  figures.duplicates_possible = db.possible_duplicates;
  return figures;
}

}  // namespace txbox::relay
