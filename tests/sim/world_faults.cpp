#include <algorithm>

#include "trace.hpp"
#include "world.hpp"

namespace txbox::sim {

using namespace relay;
using namespace std::chrono_literals;
using store::HeldState;
using State = TopicFacts::State;

namespace {
constexpr int kTroubleSteps = 700;
constexpr int kDrainSteps = 200'000;
constexpr std::int64_t kMostRows = 60;
}  // namespace

void World::draw_weather() {
  weather_.broker_faults = chance(2);
  weather_.poison = chance(2);
  weather_.killers = chance(3);
  weather_.topics_change = chance(3);
  weather_.topics_recreated = chance(10);
  weather_.partitions_close = chance(3);
  weather_.crashes = chance(3);
  weather_.power_cuts = chance(8);
  weather_.people = chance(3);
  weather_.scheduled = chance(3);
  weather_.lost_marks = chance(3);
  weather_.races = chance(4);
  weather_.retention = chance(3);
  weather_.clock_set = chance(4);
  weather_.policy_set = chance(4);
  options_.window_rows = static_cast<std::int64_t>(1 + random_.below(chance(2) ? 6 : 40));
  options_.window_bytes = static_cast<std::int64_t>(chance(3) ? 1'000 : 100'000);
  options_.read.rows = static_cast<std::int64_t>(1 + random_.below(10));
  options_.mark_rows = static_cast<std::int64_t>(1 + random_.below(8));
  options_.on_refusal = chance(3) ? OnRefusal::skip : OnRefusal::block;
  let_keys_go_ = options_.on_refusal == OnRefusal::skip;
  if (weather_.retention) {
    if (!chance(4)) options_.keep.sent = std::chrono::milliseconds(chance(2) ? 0 : random_.below(3'000));
    if (chance(2)) options_.keep.skipped = std::chrono::milliseconds(random_.below(3'000));
  }
  options_.seed = random_.next();
  stores_.resize(chance(4) ? 2 : 1);
  topic_names_ = {"orders", "invoices"};
  for (const std::string& name : topic_names_)
    broker_.make_topic(name, static_cast<std::int32_t>(1 + random_.below(3)));
  broker_.topics.at("invoices").compacted = chance(3);
  if (weather_.topics_change && chance(3)) broker_.topics.at("invoices").state = State::missing;
}

bool World::calm() const {
  return !weather_.broker_faults && !weather_.poison && !weather_.killers && !weather_.topics_change &&
         !weather_.topics_recreated && !weather_.partitions_close && !weather_.crashes && !weather_.power_cuts &&
         !weather_.races;
}

std::size_t World::pruned() const {
  std::size_t count = 0;
  for (const ModelStore& store : stores_) count += store.pruned().size();
  return count;
}

void World::commit_rows() {
  ModelStore& store = stores_[random_.below(stores_.size())];
  if (store.newest() >= kMostRows) return;
  const std::uint64_t count = 1 + random_.below(3);
  for (std::uint64_t index = 0; index < count; ++index) {
    ModelRow row;
    row.nonce = next_nonce_++;
    row.created_at_ms = to_ms(wall_);
    row.topic = topic_names_[chance(3) ? 1 : 0];
    if (!chance(6)) row.key = "k" + std::to_string(random_.below(4));
    if (chance(12)) row.partition = static_cast<std::int32_t>(random_.below(4));
    row.payload = std::string(random_.below(200), 'x');
    row.poison = weather_.poison && chance(12);
    row.killer = weather_.killers && chance(20);
    row.malformed = weather_.poison && chance(60);
    if (weather_.scheduled && chance(6)) {
      row.deliver_at_ms = to_ms(wall_) + static_cast<std::int64_t>(random_.below(3'000)) - 500;
    }
    const bool no_key_on_compacted = !row.key && broker_.topics.at(row.topic).compacted;
    if (row.poison || row.killer || row.malformed || no_key_on_compacted) deserved.insert(row.nonce);
    store.commit(std::move(row));
  }
}

void World::change_topic() {
  const std::string& name = topic_names_[random_.below(topic_names_.size())];
  ModelTopic& topic = broker_.topics.at(name);
  switch (random_.below(6)) {
    case 0:
      if (topic.state == State::usable) broker_.delete_topic(name);
      break;
    case 1:
      if (topic.state != State::usable) break;
      topic.state = State::denied;
      topic.looks_usable = chance(2);
      for (ModelProducer* producer : producers_) broker_.fail_queued(*producer, name);
      break;
    case 2:
      if (topic.partitions < 5 && topic.state == State::usable) {
        ++topic.partitions;
        topic.ends.push_back(0);
      }
      break;
    default:
      if (topic.state == State::missing) broker_.make_topic(name, topic.partitions);
      topic.state = State::usable;
      topic.looks_usable = false;
      break;
  }
}

void World::close_partition() {
  ModelTopic& topic = broker_.topics.at(topic_names_[random_.below(topic_names_.size())]);
  topic.without_leader = chance(2);
  topic.closed.clear();
  if (!chance(3)) topic.closed.insert(static_cast<std::int32_t>(random_.below(topic.ends.size())));
}

void World::crash(bool power_cut) {
  trace(power_cut ? "--- power cut" : "--- crash");
  // What was commanded may have been done, or not.
  for (std::size_t index = 0; index < sides_.size(); ++index) {
    for (std::uint64_t more = random_.below(3); more > 0; --more) carry_out_marking(static_cast<DatabaseIndex>(index));
  }
  for (ModelProducer* producer : producers_) broker_.crash(*producer);
  if (power_cut) {
    for (ModelStore& store : stores_) store.power_cut();
  }
  start_relay();
}

void World::person() {
  ModelStore& store = stores_[random_.below(stores_.size())];
  if (store.newest() == 0) return;
  const std::int64_t id = 1 + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(store.newest())));
  if (!store.rows().contains(id)) return;
  const std::uint64_t nonce = store.rows().at(id).nonce;
  const std::uint64_t what = random_.below(3);
  trace("person: " + std::string(what == 0 ? "park " : what == 1 ? "skip " : "retry ") + std::to_string(id));
  switch (what) {
    case 0: return store.park(id);
    case 1:
      if (!store.receipts().contains(id)) let_go.insert(nonce);
      return store.skip(id);
    default: return store.retry(id);
  }
}

void World::set_policy() {
  options_.on_refusal = chance(2) ? OnRefusal::skip : OnRefusal::block;
  let_keys_go_ = let_keys_go_ || options_.on_refusal == OnRefusal::skip;
  trace(options_.on_refusal == OnRefusal::skip ? "--- refused rows let their key go" : "--- refused rows block");
  step(event::RefusalPolicy{options_.on_refusal});
}

void World::trouble() {
  if (chance(6)) commit_rows();
  if (weather_.topics_change && chance(60)) change_topic();
  if (weather_.topics_recreated && chance(150)) {
    trace("--- orders is made anew");
    broker_.delete_topic("orders");
    broker_.make_topic("orders", broker_.topics.at("orders").partitions);
  }
  if (weather_.partitions_close && chance(60)) close_partition();
  if (weather_.people && chance(40)) person();
  if (weather_.policy_set && chance(100)) set_policy();
  if (weather_.clock_set && chance(60)) {
    wall_ += std::chrono::milliseconds(random_.below(4'000)) - 2s;
    trace("--- the clock is set to " + std::to_string(to_ms(wall_)));
  }
  if (weather_.killers && chance(30)) broker_.flap(*producers_[random_.below(2)]);
  if (weather_.crashes && chance(120)) crash(false);
  if (weather_.power_cuts && chance(200)) crash(true);
}

void World::make_peace() {
  trace("--- peace");
  peace_ = true;
  for (ModelStore& store : stores_) store.forget_topic_releases();
  for (const std::string& name : topic_names_) {
    ModelTopic& topic = broker_.topics.at(name);
    if (topic.state == State::missing) broker_.make_topic(name, topic.partitions);
    topic.state = State::usable;
    topic.looks_usable = false;
  }
}

/// What the first peace leaves closed is open in the second.
void World::open_partitions() {
  trace("--- every partition takes records");
  for (const std::string& name : topic_names_) broker_.topics.at(name).closed.clear();
}

/// No partition takes the row, whatever the relay does.
bool World::may_wait(const ModelRow& row) const {
  const ModelTopic& topic = broker_.topics.at(row.topic);
  if (row.partition) return *row.partition >= topic.partitions || topic.closed.contains(*row.partition);
  if (row.key) return topic.closed.contains(partition_of(*row.key, topic.partitions));
  return static_cast<std::int32_t>(topic.closed.size()) == topic.partitions;
}

bool World::drained() const {
  for (std::size_t index = 0; index < stores_.size(); ++index) {
    const ModelStore& store = stores_[index];
    std::set<store::Lane> blocked_by_parked;
    for (const auto& [id, row] : store.rows()) {
      if (store.receipts().contains(id)) continue;
      const auto held = store.held().find(id);
      if (held == store.held().end()) return false;
      const auto& lane = held->second.lane;
      const HeldState state = held->second.state;
      if (state == HeldState::skipped) continue;
      if (state == HeldState::parked) {
        if (lane) blocked_by_parked.insert(*lane);
        continue;
      }
      if (state == HeldState::waiting && may_wait(row)) {
        if (lane) blocked_by_parked.insert(*lane);
        continue;
      }
      if (!lane || !blocked_by_parked.contains(*lane)) return false;
    }
    if (store.settled_through() != store.newest()) return false;
    const Side& side = sides_[index];
    if (!side.marking.empty() || !side.marked.empty()) return false;
    if (core_->status().settled_through[index] != store.newest()) return false;
  }
  return broker_.idle() && core_->status().in_flight_rows == 0;
}

std::string World::what_is_left() const {
  std::string left;
  for (const ModelStore& store : stores_) {
    for (const auto& [id, row] : store.rows()) {
      if (store.receipts().contains(id)) continue;
      const auto held = store.held().find(id);
      left += " " + std::to_string(id) + ":" +
              (held == store.held().end() ? "unsent" : std::string(to_string(held->second.state)));
    }
    left += " (settled " + std::to_string(store.settled_through()) + " of " + std::to_string(store.newest()) + ")";
  }
  return left;
}

void World::drain(const std::string& phase) {
  for (int count = 0; count < kDrainSteps; ++count) {
    act();
    if (told_to_restart_) crash(false);
    if (count % 16 == 0 && drained()) return;
  }
  violated("P10: " + phase + ": did not drain, left:" + what_is_left());
}

/// What is still refused is parked once more, and what stands behind it goes on, or waits again.
void World::retry_in_vain() {
  for (std::size_t index = 0; index < stores_.size(); ++index) {
    ModelStore& store = stores_[index];
    std::vector<std::int64_t> ids;
    for (const auto& [id, held] : store.held()) {
      if (held.state == HeldState::parked) ids.push_back(id);
    }
    for (const std::int64_t id : ids) store.retry(id);
    step(event::Woken{static_cast<DatabaseIndex>(index), true});
  }
}

void World::retry_everything() {
  for (std::size_t index = 0; index < stores_.size(); ++index) {
    ModelStore& store = stores_[index];
    std::vector<std::int64_t> ids;
    for (const auto& [id, row] : store.rows()) {
      if (!row.malformed) store.heal(id);
      const auto held = store.held().find(id);
      if (held != store.held().end() && held->second.state == HeldState::parked) ids.push_back(id);
    }
    for (const std::int64_t id : ids) store.retry(id);
    step(event::Woken{static_cast<DatabaseIndex>(index), true});
  }
}

void World::run() {
  for (int count = 0; count < kTroubleSteps; ++count) {
    trouble();
    act();
  }
  make_peace();
  drain("after the trouble");
  judge(*this);
  if (weather_.partitions_close) {
    open_partitions();
    drain("after every partition took records");
    judge(*this);
  }
  if (weather_.policy_set) {
    set_policy();
    retry_in_vain();
    drain("after everything was retried in vain");
    judge(*this);
  }
  retry_everything();
  drain("after everything was retried");
  judge(*this);
}

}  // namespace txbox::sim
