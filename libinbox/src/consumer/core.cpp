#include "libinbox/src/consumer/core.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <txbox/base/check.hpp>

#include "libinbox/src/consumer/core_state.hpp"

namespace txbox::inbox::consumer {

using namespace std::chrono_literals;

namespace {

constexpr Backoff kAfterUpset{50ms, 5'000ms};
constexpr std::chrono::milliseconds kFloor{1'000};
/// Whatever the interval, the group is looked after between a refused commit and the next.
constexpr std::chrono::milliseconds kAfterRefusal{100};

}  // namespace

void Core::State::want(Leave why) { leave = std::max(leave, why); }

void Core::State::commit_waited() {
  command::CommitKafka commit;
  commit.wait = true;
  for (auto& [place, partition] : partitions) {
    if (partition.confirmed == partition.position) continue;
    commit.places.push_back({place, partition.position, metadata});
  }
  if (!commit.places.empty()) out->emplace_back(std::move(commit));
}

void Core::State::give_up_all() {
  command::GiveUp give_up;
  for (const auto& [place, partition] : partitions) {
    const bool not_tried = !partition.hand.empty() && partition.hand.front().start_recorded;
    give_up.places.push_back({place, partition.position, partition.assignment, partition.suspects == 0,
                              not_tried ? std::optional(partition.hand.front().offset) : std::nullopt});
  }
  for (const auto& [place, one] : starting) {
    if (one.partition.assignment == 0) continue;  // Not taken yet.
    give_up.places.push_back({place, one.partition.position, one.partition.assignment, one.partition.suspects == 0});
  }
  if (!give_up.places.empty()) out->emplace_back(std::move(give_up));
}

void Core::State::leave_now() {
  const Leave why = std::exchange(leave, Leave::no);
  if (why == Leave::no) return;
  if (why == Leave::revoked || why == Leave::stop) commit_waited();
  remembered.clear();
  if (why == Leave::reload) {
    for (const auto& [place, partition] : partitions) {
      remembered[place] = {partition.assignment, partition.suspects};
    }
  }
  if (why == Leave::reload) {
    // Until Assign begins anew, at positions of then: what came meanwhile would be fetched for nothing.
    for (auto& [place, partition] : partitions) hold_back(partition);
  }
  give_up_all();
  out->emplace_back(command::ForgetAll{});
  partitions.clear();
  starting.clear();
  recount();
  if (why == Leave::reload) {
    const auto pause = upsets == 0 ? 0ms : kAfterUpset.wait(upsets - 1, random);
    ++upsets;
    return begin_round(now + pause);
  }
  ++round;  // What is still on its way for the old assignment counts no more.
  assigned.clear();
  standing.clear();
  unanswered.clear();
  phase = Phase::idle;
  out->emplace_back(command::Unassign{});
  if (why != Leave::stop) return;
  phase = Phase::ended;
  if (failure) {
    out->emplace_back(*failure);
  } else {
    out->emplace_back(command::Stopped{});
  }
}

void Core::State::tell_kafka() {
  if (now < commit_at) return;
  command::CommitKafka commit;
  for (auto& [place, partition] : partitions) {
    if (partition.told == partition.position) continue;
    partition.told = partition.position;
    commit.places.push_back({place, partition.position, metadata});
  }
  if (commit.places.empty()) return;
  commit_at = now + options.kafka_commit_interval;
  out->emplace_back(std::move(commit));
}

void Core::State::on_commit_answer(const Place& place, std::int64_t offset, bool failed) {
  if (phase == Phase::telling) {
    const auto found = starting.find(place);
    if (found == starting.end() || found->second.start.offset != offset || unanswered_commits == 0) return;
    if (failed) {
      telling_failed = true;
    } else {
      found->second.partition.confirmed = found->second.partition.told = offset;
    }
    if (--unanswered_commits == 0) settle();
    return;
  }
  const auto found = partitions.find(place);
  if (found == partitions.end() || found->second.told != offset) return;
  if (failed) {
    // A normal event while the group changes: what Kafka does not know is told again, or read again elsewhere.
    found->second.told = -1;
    commit_at = std::max(commit_at, now + std::max(options.kafka_commit_interval, kAfterRefusal));
  } else {
    found->second.confirmed = offset;
  }
}

bool Core::State::drained() const {
  if (!unanswered.empty()) return false;
  return std::all_of(partitions.begin(), partitions.end(), [](const auto& entry) {
    const Partition& partition = entry.second;
    return partition.position >= partition.target && !partition.wait_until;
  });
}

void Core::State::proceed() {
  if (phase == Phase::ended || batch.doing != Doing::nothing) return;
  leave_now();
  if (phase == Phase::waiting && now >= load_at) load();
  if (leave != Leave::no) leave_now();
  if (phase != Phase::running) return;
  end_waits();
  if (options.drain && std::exchange(progressed, false) && drained()) {
    if (!standing.empty()) {
      failure = command::Fail{ErrorCode::offset_out_of_range,
                              name_of(*standing.begin()) + " stands still: its position is not in the topic, and " +
                                  "nothing of it was read"};
    }
    want(Leave::stop);
    return leave_now();
  }
  tell_kafka();
  if (!unanswered.empty() && now >= ask_again_at) return ask_again();
  if ((glanced || hand_full()) && now >= begin_at) start_batch();
}

SteadyTime Core::State::next_tick() const {
  SteadyTime tick = now + kFloor;
  if (phase == Phase::waiting) return std::min(tick, load_at);
  if (phase != Phase::running) return tick;
  if (!unanswered.empty()) tick = std::min(tick, ask_again_at);
  for (const auto& [place, partition] : partitions) {
    if (partition.wait_until) {
      tick = std::min(tick, *partition.wait_until);
    } else if (!partition.hand.empty() || partition.end_to_store()) {
      tick = std::min(tick, std::max(now, begin_at));
    }
    if (partition.told != partition.position) tick = std::min(tick, commit_at);
  }
  return tick;
}

Core::Core(const CoreOptions& options) : state_(std::make_unique<State>(options)) {
  TXBOX_CHECK(options.attempts > 0 && options.batch_messages > 0 && options.hand_bytes > 0);
}

Core::~Core() = default;

void Core::step(SteadyTime steady, WallTime wall, const Event& event, Commands& out) {
  State& state = *state_;
  if (state.phase == Phase::ended) return;
  state.now = steady;
  state.wall = wall;
  state.out = &out;
  std::visit(
      [&state](const auto& what) {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, event::Assigned>) state.on_assigned(what);
        if constexpr (std::is_same_v<What, event::Revoked>) state.want(what.lost ? Leave::lost : Leave::revoked);
        if constexpr (std::is_same_v<What, event::PositionsLoaded>) state.on_loaded(what);
        if constexpr (std::is_same_v<What, event::LoadFailed>) {
          if (what.round == state.round) state.on_load_failed(what.reason);
        }
        if constexpr (std::is_same_v<What, event::Taken>) state.on_taken(what);
        if constexpr (std::is_same_v<What, event::Arrived>) state.on_arrived(what);
        if constexpr (std::is_same_v<What, event::PollIdle> || std::is_same_v<What, event::Tick>) {
          state.polled_at = state.now;
          state.glanced = true;
        }
        if constexpr (std::is_same_v<What, event::EndReached>) state.on_end(what);
        if constexpr (std::is_same_v<What, event::OutOfRange>) state.on_out_of_range(what);
        if constexpr (std::is_same_v<What, event::Prepared>) state.on_prepared(what);
        if constexpr (std::is_same_v<What, event::Begun>) state.on_begun();
        if constexpr (std::is_same_v<What, event::BeginFailed>) state.on_begin_failed(what.reason);
        if constexpr (std::is_same_v<What, event::Applied>) state.on_applied(what);
        if constexpr (std::is_same_v<What, event::DeadLettered>) state.on_dead_lettered(what);
        if constexpr (std::is_same_v<What, event::Closed>) state.on_closed(what);
        if constexpr (std::is_same_v<What, event::KafkaCommitted>) {
          state.on_commit_answer(what.place, what.offset, false);
        }
        if constexpr (std::is_same_v<What, event::KafkaCommitFailed>) {
          state.on_commit_answer(what.place, what.offset, true);
        }
        if constexpr (std::is_same_v<What, event::StopRequested>) state.want(Leave::stop);
      },
      event);
  state.proceed();
}

SteadyTime Core::next_tick() const { return state_->next_tick(); }

CoreStatus Core::status() const {
  CoreStatus status = state_->counts;
  status.partitions = state_->partitions.size();
  status.waiting = state_->waits;
  status.standing_still = state_->standing.size();
  for (const auto& [place, partition] : state_->partitions) status.in_hand += partition.hand.size();
  return status;
}

}  // namespace txbox::inbox::consumer
