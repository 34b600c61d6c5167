#include "core_fixture.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace txbox::test {

using namespace inbox::consumer;

ConsumerFixture::ConsumerFixture(CoreOptions options)
    : core([&options] {
        if (options.store_uuid.empty()) options.store_uuid = "store-a";
        if (options.incarnation == 0) options.incarnation = 1;
        if (options.group.empty()) options.group = "billing";
        return options;
      }()) {}

void ConsumerFixture::step(const Event& event) {
  Commands out;
  core.step(steady, wall, event, out);
  commands_.insert(commands_.end(), out.begin(), out.end());
  if (std::exchange(answering_, true)) return;
  while (!commands_.empty()) {
    const Command command = std::move(commands_.front());
    commands_.pop_front();
    answer(command);
  }
  answering_ = false;
}

void ConsumerFixture::advance(std::chrono::milliseconds time) {
  steady += time;
  wall += time;
  step(event::Tick{});
}

void ConsumerFixture::answer(const Command& command) {
  const std::string line = line_of(command, wall);
  if (std::holds_alternative<command::Say>(command)) {
    words.push_back(std::get<command::Say>(command).text);
    return;
  }
  log.push_back(line);
  if (silent) return;
  std::visit(
      [this, &line](const auto& what) {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, command::Load> || std::is_same_v<What, command::Take> ||
                      std::is_same_v<What, command::CommitKafka> || std::is_same_v<What, command::Apply> ||
                      std::is_same_v<What, command::Close>) {
          on(what);
        }
        if constexpr (std::is_same_v<What, command::Begin>) {
          if (begin_failures.empty()) return step(event::Begun{});
          event::BeginFailed failed{begin_failures.front()};
          begin_failures.pop_front();
          step(failed);
        }
        if constexpr (std::is_same_v<What, command::Prepare>) {
          const auto found = unprepared.find(what.offset);
          step(found == unprepared.end() ? event::Prepared{} : event::Prepared{true, found->second});
        }
        if constexpr (std::is_same_v<What, command::DeadLetter>) step(event::DeadLettered{dead_letters_kept});
        if constexpr (std::is_same_v<What, command::Stopped> || std::is_same_v<What, command::Fail>) end = line;
      },
      command);
}

void ConsumerFixture::on(const command::Load& load) {
  if (!load_failures.empty()) {
    event::LoadFailed failed{load.round, load_failures.front()};
    load_failures.pop_front();
    return step(failed);
  }
  event::PositionsLoaded loaded{load.round, {}};
  for (const Place& place : load.places) {
    if (without_leader.contains(place)) continue;
    const TestPlace& test = places.at(place);
    event::PositionsLoaded::Loaded one;
    one.place = place;
    if (test.stored) one.stored = {*test.stored, test.reset_to, assignments[place]};
    if (test.committed) one.committed = {*test.committed, test.metadata};
    one.low = test.low;
    one.high = test.high;
    one.tries = test.tries;
    loaded.places.push_back(one);
  }
  if (loaded.places.empty() && !load.places.empty()) return step(event::LoadFailed{load.round, "no leader"});
  step(loaded);
}

void ConsumerFixture::on(const command::Take& take) {
  if (!take_failures.empty()) {
    event::LoadFailed failed{take.round, take_failures.front()};
    take_failures.pop_front();
    return step(failed);
  }
  event::Taken taken{take.round, {}};
  for (const auto& one : take.places) {
    TestPlace& test = places.at(one.place);
    if (const auto found = moved.find(one.place); found != moved.end()) {
      test.stored = found->second;
      ++assignments[one.place];
      moved.erase(found);
    }
    const bool taken_meanwhile = one.loaded_assignment && *one.loaded_assignment != assignments[one.place];
    const bool left = one.set_next && (taken_meanwhile || test.stored != one.loaded_next);
    if (!left && one.set_next) test.stored = *one.set_next;
    if (!left && one.reset_to) test.reset_to = *one.reset_to;
    if (!left) ++assignments[one.place];
    taken.positions.push_back({one.place, test.stored.value_or(0), test.clean, assignments[one.place], left});
    if (left) continue;
    test.clean = false;
  }
  step(taken);
}

void ConsumerFixture::on(const command::CommitKafka& commit) {
  for (const auto& one : commit.places) {
    if (kafka_takes_commits) {
      places.at(one.place).committed = one.offset;
      places.at(one.place).metadata = one.metadata;
      if (commit.wait) step(event::KafkaCommitted{one.place, one.offset});
    } else {
      step(event::KafkaCommitFailed{one.place, one.offset, "REBALANCE_IN_PROGRESS"});
    }
  }
}

void ConsumerFixture::on(const command::Apply& apply) {
  steady += handler_takes;
  wall += handler_takes;
  if (fail_inside[apply.offset]-- > 0) return step(event::Closed{event::Closed::Result::failed, "disk is full"});
  if (revoke_inside == apply.offset) revoked();
  auto& planned = answers[apply.offset];
  event::Applied answer;
  if (!planned.empty()) {
    answer = planned.front();
    planned.pop_front();
  }
  step(answer);
}

void ConsumerFixture::on(const command::Close& close) {
  event::Closed answer;
  if (!closes.empty()) {
    answer = closes.front();
    closes.pop_front();
  }
  const auto result = answer.result;
  if (result == event::Closed::Result::committed) {
    for (const auto& one : close.advance) places.at(one.place).stored = one.next;
  }
  step(answer);
}

void ConsumerFixture::assigned(const std::vector<TestPlace>& list) {
  event::Assigned event;
  for (const TestPlace& test : list) {
    places.insert_or_assign(test.place, test);
    event.places.push_back(test.place);
  }
  step(event);
}

void ConsumerFixture::arrive(const Place& place, const std::vector<std::int64_t>& offsets) {
  for (const std::int64_t offset : offsets) {
    event::Arrived arrived;
    arrived.place = place;
    arrived.offset = offset;
    arrived.bytes = bytes;
    arrived.has_id = has_id;
    arrived.has_prepare = has_prepare;
    step(arrived);
  }
}

void ConsumerFixture::will_fail(std::int64_t offset, int times) {
  for (int time = 0; time < times; ++time) {
    event::Applied failed;
    failed.kind = event::Applied::Kind::failed;
    failed.reason = "no such account";
    will(offset, failed);
  }
}

Lines ConsumerFixture::take(const std::vector<std::string>& words_wanted) {
  Lines found;
  for (const std::string& line : take()) {
    const bool wanted = std::any_of(words_wanted.begin(), words_wanted.end(),
                                    [&line](const std::string& word) { return line.starts_with(word); });
    if (wanted) found.push_back(line);
  }
  return found;
}

bool ConsumerFixture::said(std::string_view part) const { return times_said(part) > 0; }

int ConsumerFixture::times_said(std::string_view part) const {
  return static_cast<int>(std::count_if(
      words.begin(), words.end(), [part](const std::string& text) { return text.find(part) != std::string::npos; }));
}

}  // namespace txbox::test
