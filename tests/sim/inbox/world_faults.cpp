#include <algorithm>

#include "world.hpp"

namespace txbox::sim {

using namespace inbox;
using namespace inbox::consumer;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMostEvents = 40;
constexpr int kForEver = 1'000'000;

}  // namespace

void World::draw_weather() {
  weather.poison = chance(2);
  weather.crashes = chance(2);
  weather.zombies = chance(2);
  weather.power_cuts = chance(4);
  weather.locks = chance(3);
  weather.store_faults = chance(3);
  weather.broker_faults = chance(3);
  weather.resets = chance(4);
  weather.retention = chance(6);
  weather.older_copies = chance(12);
  weather.prepare = chance(4);
  options.group = "billing";
  options.store_uuid = "this-store";
  options.incarnation = 1;
  options.attempts = static_cast<int>(2 + random.below(3));
  options.retry = {10ms, 50ms};
  options.batch_messages = 1 + random.below(chance(2) ? 3 : 8);
  options.batch_lock_hold = std::chrono::milliseconds(2 + random.below(20));
  options.kafka_commit_interval = std::chrono::milliseconds(random.below(40));
  options.hand_bytes = chance(3) ? 300 : 100'000;
  options.group_reset = chance(2) ? GroupReset::follow : GroupReset::ignore;
  options.offset_out_of_range = chance(2) ? OffsetOutOfRange::earliest : OffsetOutOfRange::latest;
  options.no_committed_offset = chance(4) ? NoCommittedOffset::latest : NoCommittedOffset::earliest;
  // A claim may go once no copy of its event can come again; a followed reset and an older copy bring them back.
  const bool comes_again = weather.resets && options.group_reset == GroupReset::follow;
  weather.prune = chance(2) && !comes_again && !weather.older_copies;
  wanted_processes_ = 1 + random.below(3);
}

void World::make_topic() {
  const auto partitions = static_cast<std::int32_t>(1 + random.below(4));
  database = std::make_unique<ModelDatabase>(partitions, !weather.power_cuts || chance(3));
  group = std::make_unique<ModelGroup>(random, partitions);
  for (int count = 0; count < 10; ++count) produce();
  for (ModelPartition& partition : group->partitions) {
    if (!chance(6)) continue;
    // Another consumer had the group before.
    partition.committed = {static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(partition.high) + 1)), ""};
  }
}

void World::produce() {
  using Kind = Behaviour::Kind;
  ModelPartition& partition = group->partitions[random.below(group->partitions.size())];
  const auto gap = static_cast<std::int64_t>(chance(5) ? 1 + random.below(3) : 0);
  if (chance(12)) {
    partition.append(ModelRecord::kMarker, gap);
  } else if (chance(25)) {
    partition.append(ModelRecord::kWithoutId, gap);
  } else {
    std::size_t event = random.below(behaviours.size() + 1);
    if (event == behaviours.size() || copies_left_[event] == 0) {
      event = behaviours.size();
      Behaviour behaviour;
      if (weather.poison && chance(5)) {
        behaviour.kind = static_cast<Kind>(1 + random.below(5));
        behaviour.times = chance(2) ? kForEver : static_cast<int>(1 + random.below(2));
      }
      behaviours.push_back(behaviour);
      calls.push_back(0);
      copies_left_.push_back(static_cast<int>(random.below(3)) + 1);
      database->add_event();
    }
    --copies_left_[event];
    partition.append(static_cast<int>(event), gap);
  }
  for (const auto& process : processes_) process->wake();
}

Behaviour World::behaviour_now(int event) const {
  const Behaviour& behaviour = behaviours[static_cast<std::size_t>(event)];
  return calls[static_cast<std::size_t>(event)] < behaviour.times ? behaviour : Behaviour{};
}

/// The end of a try was taken back, and its start was not.
void World::count_lost_starts() {
  for (const auto& [at, tries] : database->now().tries) {
    int& lost = lost_starts[at];
    lost = std::max(lost, tries.started);
  }
}

void World::power_cut() {
  trace("--- power cut");
  const auto cut = random.next();
  end_all();
  database->power_cut(cut);
  count_lost_starts();
  judge_kafka();
}

void World::person_resets() {
  end_all();
  for (std::size_t number = 0; number < group->partitions.size(); ++number) {
    if (chance(3)) continue;
    ModelPartition& partition = group->partitions[number];
    const auto among = static_cast<std::uint64_t>(partition.high - partition.low) + 1;
    const std::int64_t offset = chance(3)   ? partition.low
                                : chance(2) ? partition.high
                                            : partition.low + static_cast<std::int64_t>(random.below(among));
    trace("--- a person sets o" + std::to_string(number) + " to " + std::to_string(offset));
    partition.committed = {offset, ""};
    reset_asked_[static_cast<std::int32_t>(number)] = offset;
    ++resets_[static_cast<std::int32_t>(number)];
  }
}

void World::restore_older_copy() {
  const auto& rows = database->now().rows;
  if (!older_copy_) {
    if (std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.there; })) {
      older_copy_ = database->now();
    }
    return;
  }
  trace("--- an older copy is restored");
  end_all();
  database->restore(*older_copy_);
  count_lost_starts();
  older_copy_.reset();
  for (std::size_t number = 0; number < rows.size(); ++number) stale.insert(static_cast<std::int32_t>(number));
}

void World::retention() {
  ModelPartition& partition = group->partitions[random.below(group->partitions.size())];
  if (partition.high == partition.low) return;
  const auto most = static_cast<std::uint64_t>(partition.high - partition.low) + 1;
  partition.low += static_cast<std::int64_t>(random.below(most));
}

/// Below the smaller of the database's and Kafka's offset, in every partition where a copy stands.
void World::prune() {
  if (!database->begin(ModelDatabase::kApplication)) return;
  Database& open = database->open(ModelDatabase::kApplication);
  std::vector<bool> may_go(behaviours.size(), true);
  for (std::size_t event = 0; event < behaviours.size(); ++event) may_go[event] = copies_left_[event] == 0;
  for (std::size_t number = 0; number < group->partitions.size(); ++number) {
    const ModelPartition& partition = group->partitions[number];
    const Database::Row& row = open.rows[number];
    const std::int64_t in_kafka =
        partition.committed && !partition.committed->metadata.empty() ? partition.committed->offset : 0;
    const std::int64_t below = row.there ? std::min(row.next, in_kafka) : 0;
    for (const ModelRecord& record : partition.records) {
      if (record.event >= 0 && record.offset >= below) may_go[static_cast<std::size_t>(record.event)] = false;
    }
  }
  for (std::size_t event = 0; event < behaviours.size(); ++event) {
    if (may_go[event]) open.claims[event] = Claimed::no;
  }
  database->commit(ModelDatabase::kApplication);
}

void World::trouble() {
  if (chance(12) && behaviours.size() < kMostEvents) produce();
  if (weather.crashes && chance(60) && !processes_.empty()) end_process(random.below(processes_.size()));
  if (weather.zombies && chance(60) && !processes_.empty()) {
    const Process& process = *processes_[random.below(processes_.size())];
    trace("--- process " + std::to_string(process.id()) + " freezes");
    frozen_[process.id()] = steady + std::chrono::milliseconds(random.below(400));
    if (chance(2)) group->put_out(process.id());
  }
  if (weather.zombies && chance(80) && !processes_.empty()) {
    group->put_out(processes_[random.below(processes_.size())]->id());
  }
  if (weather.power_cuts && chance(150)) power_cut();
  if (weather.locks && chance(40) && database->begin(ModelDatabase::kApplication)) {
    application_holds_until_ = steady + std::chrono::milliseconds(random.below(60));
  }
  if (weather.resets && chance(200)) person_resets();
  if (weather.retention && chance(100)) retention();
  if (weather.older_copies && chance(150)) restore_older_copy();
  if (weather.prune && chance(20)) prune();
  if (chance(100) && !processes_.empty()) processes_[random.below(processes_.size())]->stop();
}

void World::make_peace() {
  trace("--- peace");
  peace = true;
  frozen_.clear();
  application_holds_until_.reset();
  database->roll_back(ModelDatabase::kApplication);
}

}  // namespace txbox::sim
