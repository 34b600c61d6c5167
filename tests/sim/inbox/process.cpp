#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "unit/consumer/command_line.hpp"
#include "world.hpp"

namespace txbox::sim {

using namespace inbox::consumer;
using namespace std::chrono_literals;

namespace {

std::size_t index_of(const Place& place) { return static_cast<std::size_t>(place.partition); }
Coordinates at(const Place& place, std::int64_t offset) { return {place.partition, offset}; }

}  // namespace

Process::Process(World& world, int id, const CoreOptions& options) : world_(world), id_(id), core_(options) {}

void Process::step(const Event& event) {
  Commands out;
  core_.step(world_.steady, world_.wall, event, out);
  for (Command& command : out) {
    if (tracing()) trace("  " + std::to_string(id_) + " <- " + test::line_of(command, world_.wall));
    commands_.push_back(std::move(command));
  }
}

bool Process::act() {
  if (commands_.empty()) {
    poll();
  } else {
    const Command command = std::move(commands_.front());
    commands_.pop_front();
    if (tracing()) trace(std::to_string(id_) + " does " + test::line_of(command, world_.wall));
    carry_out(command);
  }
  return !ended_;
}

void Process::poll() {
  const ModelGroup::Told told = world_.group->poll(id_, world_.peace);
  if (told.word == ModelGroup::Word::assigned) {
    if (tracing()) trace(std::to_string(id_) + " is assigned " + std::to_string(told.partitions.size()));
    event::Assigned assigned;
    for (const std::int32_t number : told.partitions) assigned.places.push_back(World::place(number));
    return step(assigned);
  }
  if (told.word != ModelGroup::Word::none) {
    if (tracing()) trace(std::to_string(id_) + " is revoked");
    return step(event::Revoked{told.word == ModelGroup::Word::lost});
  }
  if (!fetches_.empty()) {
    auto next = fetches_.begin();
    std::advance(next, static_cast<std::ptrdiff_t>(world_.random.below(fetches_.size())));
    for (std::size_t looked = 0; looked < fetches_.size(); ++looked) {
      if (poll_partition(next->first, next->second)) return;
      if (++next == fetches_.end()) next = fetches_.begin();
    }
  }
  step(event::PollIdle{});
  if (commands_.empty()) idle_until_ = core_.next_tick();
}

bool Process::poll_partition(std::int32_t number, Fetch& fetch) {
  if (fetch.paused || fetch.stalled) return false;
  const ModelPartition& partition = world_.group->partitions[static_cast<std::size_t>(number)];
  if (fetch.position < partition.low || fetch.position > partition.high) {
    fetch.stalled = true;
    step(event::OutOfRange{World::place(number), "Offset out of range"});
    return true;
  }
  // What was handed over already may come again.
  const bool again = !world_.peace && world_.weather.broker_faults && world_.chance(20);
  const std::int64_t from = again ? fetch.position - static_cast<std::int64_t>(world_.random.below(6)) : fetch.position;
  if (const ModelRecord* record = partition.from(from)) {
    fetch.position = std::max(fetch.position, record->offset + 1);
    kept_.insert({number, record->offset});
    event::Arrived arrived;
    arrived.place = World::place(number);
    arrived.offset = record->offset;
    arrived.bytes = 100;
    arrived.has_id = record->event != ModelRecord::kWithoutId;
    arrived.has_prepare = world_.weather.prepare;
    step(arrived);
    return true;
  }
  fetch.position = partition.high;
  if (fetch.end_told == partition.high) return false;
  fetch.end_told = partition.high;
  step(event::EndReached{World::place(number), partition.high});
  return true;
}

int Process::event_at(const Place& place, std::int64_t offset) const {
  if (!kept_.contains(at(place, offset))) violated("a message that the runner does not have");
  const ModelRecord* record = world_.group->partitions[index_of(place)].from(offset);
  // Retention may have taken it from the log since; the runner has it all the same.
  if (record == nullptr || record->offset != offset) {
    for (const ModelRecord& old : world_.group->partitions[index_of(place)].records) {
      if (old.offset == offset) return old.event;
    }
    violated("an offset that never was");
  }
  return record->event;
}

void Process::carry_out(const Command& command) {
  std::visit(
      [this](const auto& what) {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, command::Begin>) {
          if (world_.database->begin(id_)) return step(event::Begun{});
          return step(event::BeginFailed{"locked"});
        } else if constexpr (std::is_same_v<What, command::Prepare>) {
          event::Prepared prepared;
          prepared.failed = !world_.peace && world_.weather.poison && world_.chance(10);
          unprepared_.erase(at(what.place, what.offset));
          if (prepared.failed) {
            unprepared_.insert(at(what.place, what.offset));
            ++world_.calls_at[at(what.place, what.offset)];
          }
          return step(prepared);
        } else if constexpr (std::is_same_v<What, command::RecordFailed>) {
          Database::Tries& tries = world_.database->open(id_).tries[at(what.place, what.offset)];
          ++tries.failed;
          if (what.was_started) --tries.started;
          end_in_batch_ = end_in_batch_ || what.was_started;
          tries.next_try_at_ms = what.next_try_at_ms;
        } else if constexpr (std::is_same_v<What, command::RecordStarted>) {
          ++world_.database->open(id_).tries[at(what.place, what.offset)].started;
          start_in_batch_ = at(what.place, what.offset);
        } else if constexpr (std::is_same_v<What, command::Forget>) {
          kept_.erase(at(what.place, what.offset));
        } else if constexpr (std::is_same_v<What, command::ForgetAll>) {
          kept_.clear();
          unprepared_.clear();
        } else if constexpr (std::is_same_v<What, command::Pause>) {
          fetches_.at(what.place.partition).paused = true;
        } else if constexpr (std::is_same_v<What, command::Resume>) {
          Fetch& fetch = fetches_.at(what.place.partition);
          if (!fetch.paused) violated("a resume of what is not paused: librdkafka rewinds then");
          fetch.paused = false;
        } else if constexpr (std::is_same_v<What, command::Unassign>) {
          fetches_.clear();
          world_.group->unassigned(id_);
        } else if constexpr (std::is_same_v<What, command::Stopped>) {
          ended_ = true;
        } else if constexpr (std::is_same_v<What, command::Fail>) {
          violated("the run failed: " + what.text);
        } else if constexpr (!std::is_same_v<What, command::Say>) {
          on(what);
        }
      },
      command);
}

void Process::on(const command::Load& load) {
  if (!world_.peace && world_.weather.broker_faults && world_.chance(4)) {
    return step(event::LoadFailed{load.round, "the broker does not answer"});
  }
  event::PositionsLoaded loaded{load.round, {}};
  const Database& now = world_.database->now();
  for (const Place& place : load.places) {
    const ModelPartition& partition = world_.group->partitions[index_of(place)];
    event::PositionsLoaded::Loaded one;
    one.place = place;
    if (const Database::Row& row = now.rows[index_of(place)]; row.there) {
      one.stored = event::PositionsLoaded::Stored{row.next, row.reset_to, row.assignment};
    }
    if (partition.committed) {
      one.committed = event::PositionsLoaded::Committed{partition.committed->offset, partition.committed->metadata};
    }
    one.low = partition.low;
    one.high = partition.high;
    const std::int64_t from = one.stored ? one.stored->next_offset : 0;
    for (auto tries = now.tries.lower_bound({place.partition, from});
         tries != now.tries.end() && tries->first.first == place.partition; ++tries) {
      one.tries.push_back(
          {tries->first.second, tries->second.started, tries->second.failed, tries->second.next_try_at_ms});
    }
    loaded.places.push_back(std::move(one));
  }
  step(loaded);
}

void Process::on(const command::Take& take) {
  if (!world_.database->begin(id_)) return step(event::LoadFailed{take.round, "locked"});
  Database& open = world_.database->open(id_);
  event::Taken taken{take.round, {}};
  for (const auto& one : take.places) {
    Database::Row& row = open.rows[index_of(one.place)];
    const bool as_loaded = one.loaded_next
                               ? row.there && row.next == *one.loaded_next && row.assignment == one.loaded_assignment
                               : !row.there;
    const bool left = one.set_next && !as_loaded;
    if (!left) {
      if (one.set_next && row.there && row.next != *one.set_next && one.reset_to && *one.reset_to >= 0) {
        world_.record_reset_followed(one.place.partition, *one.reset_to);
        ++row.resets_followed;
        if (row.resets_followed > world_.resets_made(one.place.partition)) violated("a reset was followed twice");
      }
      if (one.set_next) world_.skipped_by_policy(one.place.partition, row.there ? row.next : -1, *one.set_next);
      const bool jumped = one.set_next && (!row.there || row.next != *one.set_next);
      if (one.set_next) row.next = *one.set_next;
      row.there = true;
      if (one.reset_to) row.reset_to = *one.reset_to;
      ++row.assignment;
      const std::int64_t forget_below = jumped ? std::numeric_limits<std::int64_t>::max() : row.next;
      open.tries.erase(open.tries.lower_bound({one.place.partition, -1}),
                       open.tries.lower_bound({one.place.partition, forget_below}));
    }
    taken.positions.push_back({one.place, row.next, row.clean || row.assignment == 1, row.assignment, left});
    if (!left) row.clean = false;
  }
  world_.database->commit(id_);
  step(taken);
}

void Process::on(const command::GiveUp& give_up) {
  if (!world_.database->begin(id_)) {
    lose_transaction();
    return;
  }
  Database& open = world_.database->open(id_);
  for (const auto& one : give_up.places) {
    Database::Row& row = open.rows[index_of(one.place)];
    if (row.next != one.expected || row.assignment != one.assignment) continue;
    row.clean = one.clean;
    if (started_ && started_->first == one.place.partition && !one.not_tried) {
      violated("a start that did not happen was left in the store");
    }
    if (!one.not_tried) continue;
    const auto tries = open.tries.find(at(one.place, *one.not_tried));
    if (tries == open.tries.end() || tries->second.started == 0) violated("a start to take back that was not recorded");
    if (--tries->second.started == 0 && tries->second.failed == 0) open.tries.erase(tries);
    started_.reset();
  }
  world_.database->commit(id_);
  lose_transaction();
}

/// Whatever was started and has no end stays in the store as started.
void Process::lose_transaction() {
  if (started_) ++world_.lost_starts[*started_];
  started_.reset();
  start_in_batch_.reset();
  end_in_batch_ = false;
}

/// The database failed in a statement or a handler ended the transaction: what was started before is under way still.
void Process::roll_back() {
  world_.database->roll_back(id_);
  start_in_batch_.reset();
  end_in_batch_ = false;
}

void Process::on(const command::Apply& apply) {
  if (!world_.peace && world_.weather.store_faults && world_.chance(40)) {
    roll_back();
    return step(event::Closed{event::Closed::Result::failed, "disk is full"});
  }
  const int number = event_at(apply.place, apply.offset);
  if (number == ModelRecord::kWithoutId) violated("a handler sees a message without an id");
  if (unprepared_.contains(at(apply.place, apply.offset))) violated("a handler sees a message that is not prepared");
  const auto event = static_cast<std::size_t>(number);
  event::Applied applied;
  Database& open = world_.database->open(id_);
  if (open.claims[event] == Claimed::applied) {
    applied.kind = event::Applied::Kind::duplicate;
    return step(applied);
  }
  const Behaviour behaviour = world_.behaviour_now(number);
  ++world_.calls[event];
  ++world_.calls_at[at(apply.place, apply.offset)];
  using Kind = Behaviour::Kind;
  switch (behaviour.kind) {
    case Kind::good:
      open.claims[event] = Claimed::applied;
      open.ended[event] = 1;
      ++open.effects[event];
      break;
    case Kind::fails:
      applied.kind = event::Applied::Kind::failed;
      applied.reason = "no";
      break;
    case Kind::kills: throw Killed{};
    case Kind::retry_after:
      applied.kind = event::Applied::Kind::retry_after;
      applied.delay = 30ms;
      break;
    case Kind::parks: applied.kind = event::Applied::Kind::park; break;
    case Kind::ends_transaction:
      applied.kind = event::Applied::Kind::rolled_back;
      roll_back();
      break;
  }
  step(applied);
}

void Process::on(const command::DeadLetter& letter) {
  if (!world_.peace && world_.weather.store_faults && world_.chance(40)) {
    roll_back();
    return step(event::Closed{event::Closed::Result::failed, "disk is full"});
  }
  const int event = event_at(letter.place, letter.offset);
  Database& open = world_.database->open(id_);
  if (event == ModelRecord::kWithoutId) {
    open.dead_without_id.insert(at(letter.place, letter.offset));
  } else if (const auto number = static_cast<std::size_t>(event); open.claims[number] != Claimed::applied) {
    world_.judge_dead_letter(event, at(letter.place, letter.offset), letter.attempts);
    if (open.claims[number] == Claimed::no) ++open.dead[number];
    open.claims[number] = Claimed::parked;
    open.ended[number] = 1;
  }
  using Kept = event::DeadLettered::Kept;
  step(event::DeadLettered{world_.chance(2) ? Kept::outbox : Kept::parked});
}

void Process::on(const command::Close& close) {
  Database& open = world_.database->open(id_);
  const auto fault = !world_.peace && world_.weather.store_faults ? world_.random.below(24) : 99;
  if (fault == 0) {
    roll_back();
    return step(event::Closed{event::Closed::Result::failed, "disk is full"});
  }
  for (const auto& one : close.forget) {
    open.tries.erase(at(one.place, one.offset));
    if (started_ == at(one.place, one.offset)) end_in_batch_ = true;
  }
  for (const auto& one : close.advance) {
    Database::Row& row = open.rows[index_of(one.place)];
    const bool ours = row.there && row.next == one.expected;
    if (!ours && world_.left_out != LeftOut::compare_and_set) {
      world_.database->roll_back(id_);
      lose_transaction();
      return step(event::Closed{event::Closed::Result::conflict, {}});
    }
    row.next = one.next;
  }
  const bool happens = fault != 1;
  if (happens) {
    world_.judge_commit(world_.database->now(), open);
    world_.database->commit(id_);
    // The end of a message that was started is in this commit, or another start is.
    if (std::exchange(end_in_batch_, false)) started_.reset();
    if (start_in_batch_ && started_) violated("two starts at a time");
    if (start_in_batch_) started_ = std::exchange(start_in_batch_, std::nullopt);
  } else {
    roll_back();
  }
  if (fault == 1 || fault == 2) {
    lose_transaction();
    return step(event::Closed{event::Closed::Result::unknown, "disk I/O error"});
  }
  step(event::Closed{});
}

void Process::on(const command::CommitKafka& commit) {
  if (world_.left_out != LeftOut::barrier) world_.database->barrier();
  for (const auto& one : commit.places) {
    // The process may end between one partition and the next.
    if (!world_.peace && world_.weather.crashes && world_.chance(200)) throw Killed{};
    const bool fails = !world_.peace && world_.weather.broker_faults && world_.chance(6);
    const bool taken = !fails && world_.group->commit(id_, one.place.partition, one.offset, one.metadata);
    if (taken) {
      world_.stale.erase(one.place.partition);
      world_.judge_kafka();
      if (commit.wait) step(event::KafkaCommitted{one.place, one.offset});
    } else {
      step(event::KafkaCommitFailed{one.place, one.offset, "REBALANCE_IN_PROGRESS"});
    }
  }
}

void Process::on(const command::Assign& assign) {
  fetches_.clear();
  for (const auto& one : assign.places) {
    Fetch fetch;
    fetch.position = one.offset;
    fetches_[one.place.partition] = fetch;
  }
}

}  // namespace txbox::sim
