#include <algorithm>
#include <utility>

#include "libinbox/src/consumer/core_state.hpp"

namespace txbox::inbox::consumer {

using namespace std::chrono_literals;

namespace {

constexpr Backoff kLoadAgain{100ms, 5'000ms};
/// Each time may cost the others the wait for a leader that is away.
constexpr Backoff kAskAgain{2'000ms, 30'000ms};
/// What is left of a wait that stands in the store. A wall clock that jumped back must not prolong it: from its record
/// to its end it lasts as long as it was meant to.
std::chrono::milliseconds left_of_wait(const event::PositionsLoaded::Tries& tries, WallTime wall) {
  const std::int64_t latest = std::max(tries.next_try_at_ms, std::int64_t{0});
  const std::int64_t whole = latest - std::clamp(tries.recorded_at_ms, std::int64_t{0}, latest);
  const std::int64_t left = std::max(latest - std::max(to_ms(wall), std::int64_t{0}), std::int64_t{0});
  return std::min(std::chrono::milliseconds(std::min(whole, left)), kLongestWait);
}

}  // namespace

void Core::State::say_once(LogLevel level, const std::string& text) {
  if (said.insert(text).second) say(level, text);
}

void Core::State::on_assigned(const event::Assigned& what) {
  if (phase != Phase::idle) {
    // An eager group revokes first. Whatever came instead: what was there is given up, and the new list counts.
    want(Leave::lost);
    leave_now();
  }
  assigned = what.places;
  standing.clear();
  unanswered.clear();
  said.clear();
  load_failures = 0;
  conflicts_in_row = 0;
  begin_round(now);
}

void Core::State::begin_round(SteadyTime at) {
  ++round;
  starting.clear();
  phase = Phase::waiting;
  load_at = at;
}

void Core::State::load() {
  if (assigned.empty()) return run();
  phase = Phase::loading;
  out->emplace_back(command::Load{round, assigned});
}

void Core::State::start_over(const std::string& reason) {
  say_once(LogLevel::warning, "the positions cannot be taken up yet: " + reason);
  give_up_all();
  begin_round(now + kLoadAgain.wait(load_failures++, random));
}

void Core::State::ask_again_later() { ask_again_at = now + kAskAgain.wait(load_failures++, random); }

/// Asks for those alone, so that the others are not stopped for nothing.
void Core::State::ask_again() {
  ask_again_later();
  out->emplace_back(command::Load{round, {unanswered.begin(), unanswered.end()}});
}

void Core::State::on_load_failed(const std::string& reason) {
  if (phase == Phase::loading || phase == Phase::taking || phase == Phase::settling) start_over(reason);
}

Starting Core::State::starting_from(const event::PositionsLoaded::Loaded& loaded) {
  Starting one;
  one.start = decide_start(options, loaded);
  if (loaded.stored) {
    one.loaded_next = loaded.stored->next_offset;
    one.loaded_assignment = loaded.stored->assignment;
  }
  Partition& partition = one.partition;
  partition.place = loaded.place;
  partition.position = one.start.offset;
  // A topic that was made anew may end before.
  std::int64_t& target = targets.try_emplace(loaded.place, loaded.high).first->second;
  partition.target = target = std::min(target, loaded.high);
  if (loaded.committed) one.offset_in_kafka = loaded.committed->offset;
  if (loaded.committed && !one.start.commit_first) partition.confirmed = partition.told = loaded.committed->offset;
  // Where the position jumps Take forgets them: they may be of other records.
  const bool jumped = one.start.set_next && one.loaded_next != one.start.set_next;
  for (const auto& tries : loaded.tries) {
    if (jumped || tries.offset < one.start.offset) continue;
    partition.tries[tries.offset] = {tries.started, tries.failed, now + left_of_wait(tries, wall)};
  }
  return one;
}

void Core::State::on_loaded(const event::PositionsLoaded& what) {
  if (what.round != round) return;
  if (phase == Phase::running && !what.places.empty()) return want(Leave::reload);
  if (phase != Phase::loading) return;
  standing.clear();
  unanswered = {assigned.begin(), assigned.end()};
  for (const auto& loaded : what.places) unanswered.erase(loaded.place);
  for (const Place& place : unanswered) {
    say_once(LogLevel::warning, name_of(place) + ": its leader does not answer; asked again while the others go on");
  }
  command::Take take{round, {}};
  for (const auto& loaded : what.places) {
    Starting one = starting_from(loaded);
    for (const Start::Words& words : one.start.words) say_once(words.level, words.text);
    if (one.start.kind == Start::Kind::fail) {
      failure = command::Fail{one.start.code, one.start.text};
      return want(Leave::stop);
    }
    if (one.start.kind == Start::Kind::stand_still) {
      standing.insert(loaded.place);
      continue;
    }
    take.places.push_back(
        {loaded.place, one.loaded_next, one.loaded_assignment, one.start.set_next, one.start.reset_to});
    starting.insert_or_assign(loaded.place, std::move(one));
  }
  if (take.places.empty()) return run();
  phase = Phase::taking;
  out->emplace_back(std::move(take));
}

void Core::State::give_back(const event::Taken& what) {
  command::GiveUp give_up;
  for (const auto& taken : what.positions) {
    give_up.places.push_back({taken.place, taken.next_offset, taken.assignment, taken.clean_before});
  }
  if (!give_up.places.empty()) out->emplace_back(std::move(give_up));
}

void Core::State::on_taken(const event::Taken& what) {
  if ((phase != Phase::taking && phase != Phase::settling) || what.round != round) return give_back(what);
  const Place* moved = nullptr;
  for (const auto& taken : what.positions) {
    const auto found = starting.find(taken.place);
    if (found == starting.end()) continue;
    Starting& one = found->second;
    Partition& partition = one.partition;
    if (taken.left || taken.next_offset != partition.position) moved = &taken.place;
    if (phase == Phase::taking) {
      const auto ours = remembered.find(taken.place);
      const bool kept = ours != remembered.end() && ours->second.assignment + 1 == taken.assignment;
      const bool unclean = one.loaded_next && !taken.clean_before;
      partition.suspects = kept ? ours->second.suspects : unclean ? options.batch_messages : 0;
    }
    partition.position = taken.next_offset;
    partition.assignment = taken.left ? 0 : taken.assignment;
  }
  // Moved by a consumer that does not know yet that it lost the partition.
  if (moved != nullptr) return start_over("the position of " + name_of(*moved) + " moved in the meantime");
  if (phase == Phase::settling) return run();
  tell_starts();
}

void Core::State::tell_starts() {
  command::CommitKafka commit;
  commit.wait = true;
  for (auto& [place, one] : starting) {
    if (!one.start.commit_first) continue;
    commit.places.push_back({place, one.start.offset, metadata});
  }
  if (commit.places.empty()) return run();
  phase = Phase::telling;
  telling_failed = false;
  unanswered_commits = commit.places.size();
  out->emplace_back(std::move(commit));
}

void Core::State::settle() {
  if (telling_failed) {
    return start_over("Kafka did not take the offset that the group starts at");
  }
  command::Take take{round, {}};
  for (const auto& [place, one] : starting) {
    if (!one.start.settle_reset) continue;
    take.places.push_back({place, one.start.offset, one.partition.assignment, std::nullopt, -1});
  }
  if (take.places.empty()) return run();
  phase = Phase::settling;
  out->emplace_back(std::move(take));
}

void Core::State::run() {
  command::Assign assign;
  partitions.clear();
  remembered.clear();
  for (auto& [place, one] : starting) {
    one.partition.end = one.partition.position;
    assign.places.push_back({place, one.partition.position});
    partitions.insert_or_assign(place, std::move(one.partition));
  }
  starting.clear();
  load_failures = 0;
  if (!unanswered.empty()) ask_again_later();
  glanced = false;
  recount();
  progressed = true;
  phase = Phase::running;
  out->emplace_back(std::move(assign));
}

}  // namespace txbox::inbox::consumer
