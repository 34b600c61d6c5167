#include <algorithm>

#include "world.hpp"

namespace txbox::sim {

using inbox::OffsetOutOfRange;

namespace {

std::string name(std::size_t partition) { return "o" + std::to_string(partition); }

}  // namespace

int World::resets_made(std::int32_t partition) const {
  const auto found = resets_.find(partition);
  return found == resets_.end() ? 0 : found->second;
}

void World::record_reset_followed(std::int32_t partition, std::int64_t offset) {
  if (options.group_reset == inbox::GroupReset::ignore) violated("a reset was followed against the policy");
  const auto asked = reset_asked_.find(partition);
  if (asked == reset_asked_.end() || asked->second != offset) violated("a reset was followed that nobody made");
}

/// A position is set, not advanced: the first time, after a person's reset, or because Kafka has nothing there.
void World::skipped_by_policy(std::int32_t partition, std::int64_t from, std::int64_t to) {
  const ModelPartition& log = group->partitions[static_cast<std::size_t>(partition)];
  const auto asked = reset_asked_.find(partition);
  const bool by_person = options.group_reset == inbox::GroupReset::follow && asked != reset_asked_.end();
  const bool out_of_range = from < log.low || from > log.high;
  if (from >= 0 && from != to && !by_person && !out_of_range) violated("a position was set for no reason");
  for (const ModelRecord& record : log.records) {
    if (record.offset >= from && record.offset < to) excused.insert({partition, record.offset});
  }
}

void World::judge_commit(const Database& before, const Database& after) {
  for (std::size_t number = 0; number < after.rows.size(); ++number) {
    const std::int64_t from = before.rows[number].next;
    const std::int64_t to = after.rows[number].next;
    if (to < from) violated(name(number) + " went back from " + std::to_string(from) + " to " + std::to_string(to));
    if (to == from) continue;
    for (const ModelRecord& record : group->partitions[number].records) {
      if (record.offset < from || record.offset >= to || record.event == ModelRecord::kMarker) continue;
      const Coordinates at{static_cast<std::int32_t>(number), record.offset};
      const bool ended = record.event == ModelRecord::kWithoutId
                             ? after.dead_without_id.contains(at)
                             : after.ended[static_cast<std::size_t>(record.event)] != 0;
      if (!ended && !excused.contains(at)) violated(name(number) + " skipped " + std::to_string(record.offset));
    }
    if (to > group->partitions[number].high) violated(name(number) + " stands beyond its end");
  }
  for (std::size_t event = 0; event < after.effects.size(); ++event) {
    if (after.effects[event] > 1) violated("event " + std::to_string(event) + " was applied twice");
    if (after.dead[event] > 1) violated("event " + std::to_string(event) + " became two dead letters");
  }
}

void World::judge_dead_letter(int event, const Coordinates& at, int attempts) {
  const Behaviour& behaviour = behaviours[static_cast<std::size_t>(event)];
  // Two that both believe the partition to be theirs may count one try each.
  if (attempts > options.attempts && !weather.zombies) violated("an attempt was made beyond the last");
  if (behaviour.kind == Behaviour::Kind::parks && attempts < options.attempts) return;
  const auto lost = lost_starts.find(at);
  int lost_count = lost == lost_starts.end() ? 0 : lost->second;
  // A process that was put out while it was frozen has a start of its own under way.
  for (const auto& process : processes_) lost_count += process->started() == at ? 1 : 0;
  const auto seen = calls_at.find(at);
  const int calls_count = seen == calls_at.end() ? 0 : seen->second;
  const std::string what = "event " + std::to_string(event) + " was given up after " + std::to_string(attempts);
  if (attempts < options.attempts) violated(what + " of " + std::to_string(options.attempts) + " attempts");
  if (attempts > calls_count + lost_count) violated(what + " attempts, which it never had");
  const bool innocent = behaviour.kind == Behaviour::Kind::good && !weather.prepare;
  if (innocent && lost_count < options.attempts) violated(what + ", and was good");
}

/// P6: nothing that Kafka was told may be taken back by a power cut.
void World::judge_kafka() const {
  const Database& durable = database->durable();
  for (std::size_t number = 0; number < durable.rows.size(); ++number) {
    const auto& committed = group->partitions[number].committed;
    if (!committed || committed->metadata.empty() || stale.contains(static_cast<std::int32_t>(number))) continue;
    if (!durable.rows[number].there || committed->offset > durable.rows[number].next) {
      violated(name(number) + ": Kafka has " + std::to_string(committed->offset) + ", ahead of the database");
    }
  }
}

bool World::all_excused(int event) const {
  for (std::size_t number = 0; number < group->partitions.size(); ++number) {
    for (const ModelRecord& record : group->partitions[number].records) {
      if (record.event == event && !excused.contains({static_cast<std::int32_t>(number), record.offset})) return false;
    }
  }
  return true;
}

void World::judge_event(int event) const {
  const auto index = static_cast<std::size_t>(event);
  const Database& now = database->now();
  const int effects = now.effects[index];
  const int dead = now.dead[index];
  const Behaviour& behaviour = behaviours[index];
  const std::string what = "event " + std::to_string(event) + " ended with " + std::to_string(effects) +
                           " effects and " + std::to_string(dead) + " dead letters";
  if (effects == 0 && dead == 0) {
    if (!all_excused(event)) violated(what);
    return;
  }
  if (effects > 1 || dead > 1) violated(what);
  const bool poison = behaviour.kind != Behaviour::Kind::good && behaviour.for_ever();
  if (poison && effects > 0) violated(what + ", and is poison");
  // Good ones that died were judged when they did.
  if (poison && dead != 1) violated(what + ", and is poison");
}

void World::judge_end() const {
  judge_kafka();
  for (std::size_t event = 0; event < behaviours.size(); ++event) judge_event(static_cast<int>(event));
  const Database& now = database->now();
  for (std::size_t number = 0; number < group->partitions.size(); ++number) {
    for (const ModelRecord& record : group->partitions[number].records) {
      const Coordinates at{static_cast<std::int32_t>(number), record.offset};
      if (record.event != ModelRecord::kWithoutId || excused.contains(at)) continue;
      if (!now.dead_without_id.contains(at)) violated("a message without an id was lost");
    }
  }
  for (const auto& [at, tries] : now.tries) {
    if (at.second < now.rows[static_cast<std::size_t>(at.first)].next && !weather.zombies && !weather.retention &&
        !weather.resets) {
      violated("tries of a message that is done were left");
    }
  }
}

}  // namespace txbox::sim
