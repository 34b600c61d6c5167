#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "command_line.hpp"
#include "libinbox/src/consumer/core.hpp"

namespace txbox::test {

using Lines = std::vector<std::string>;

/// A partition as store and Kafka have it. `o0` in the log is partition 0 of topic o.
struct TestPlace {
  inbox::consumer::Place place{"o", 0};
  std::optional<std::int64_t> stored = std::nullopt;
  bool clean = true;
  std::optional<std::int64_t> reset_to = std::nullopt;
  std::optional<std::int64_t> committed = std::nullopt;
  std::string metadata = "txbox1:store-a:1";
  std::int64_t low = 0;
  std::int64_t high = 100;
  std::vector<inbox::consumer::event::PositionsLoaded::Tries> tries = {};
};

/// Plays the runner for one core: every command is one line of `log`, and is answered as the test asked beforehand
/// (by default with success). Nothing is answered that waits for Kafka's or a person's move.
class ConsumerFixture {
 public:
  explicit ConsumerFixture(inbox::consumer::CoreOptions options = {});

  void step(const inbox::consumer::Event& event);
  void advance(std::chrono::milliseconds time);
  void assigned(const std::vector<TestPlace>& places);
  void revoked(bool lost = false) { step(inbox::consumer::event::Revoked{lost}); }
  void arrive(const inbox::consumer::Place& place, const std::vector<std::int64_t>& offsets);
  void arrive(const std::vector<std::int64_t>& offsets) { arrive({"o", 0}, offsets); }
  void idle() { step(inbox::consumer::event::PollIdle{}); }
  void end_reached(std::int64_t offset) { step(inbox::consumer::event::EndReached{{"o", 0}, offset}); }
  void stop() { step(inbox::consumer::event::StopRequested{}); }
  /// The answers to Apply and Prepare of the message at this offset, one after the other; then `applied`.
  void will(std::int64_t offset, const inbox::consumer::event::Applied& answer) { answers[offset].push_back(answer); }
  void will_fail(std::int64_t offset, int times = 1);

  [[nodiscard]] Lines take() { return std::exchange(log, {}); }
  /// The lines that begin with one of these words.
  [[nodiscard]] Lines take(const std::vector<std::string>& words);
  [[nodiscard]] bool said(std::string_view part) const;
  [[nodiscard]] int times_said(std::string_view part) const;
  [[nodiscard]] bool ended() const { return end.has_value(); }

  inbox::consumer::Core core;
  SteadyTime steady{std::chrono::hours(1)};
  WallTime wall{std::chrono::milliseconds(1'700'000'000'000)};
  Lines log;
  Lines words;
  std::optional<std::string> end;  ///< "stopped", or the error's code and text.
  std::map<std::int64_t, std::deque<inbox::consumer::event::Applied>> answers;
  std::map<std::int64_t, std::string> unprepared;     ///< Prepare fails with this.
  std::deque<inbox::consumer::event::Closed> closes;  ///< Answers to Close, then `committed`.
  std::deque<std::string> begin_failures;
  std::deque<std::string> load_failures;
  std::deque<std::string> take_failures;
  std::set<inbox::consumer::Place> without_leader;       ///< Load is answered without them.
  std::map<inbox::consumer::Place, std::int64_t> moved;  ///< Take finds these positions instead.
  std::map<std::int64_t, int> fail_inside;               ///< So often the database fails in Apply of this message.
  std::optional<std::int64_t> revoke_inside;             ///< A revocation comes while this message is applied.
  bool silent = false;                                   ///< Nothing is answered.
  bool kafka_takes_commits = true;
  inbox::consumer::event::DeadLettered::Kept dead_letters_kept = inbox::consumer::event::DeadLettered::Kept::outbox;
  bool has_id = true;
  bool has_prepare = false;
  std::size_t bytes = 10;
  std::chrono::milliseconds handler_takes{0};
  std::map<inbox::consumer::Place, TestPlace> places;
  std::map<inbox::consumer::Place, std::int64_t> assignments;

 private:
  void answer(const inbox::consumer::Command& command);
  void on(const inbox::consumer::command::Load& load);
  void on(const inbox::consumer::command::Take& take);
  void on(const inbox::consumer::command::CommitKafka& commit);
  void on(const inbox::consumer::command::Apply& apply);
  void on(const inbox::consumer::command::Close& close);
  std::deque<inbox::consumer::Command> commands_;
  bool answering_ = false;
};

}  // namespace txbox::test

namespace doctest {
template <>
struct StringMaker<txbox::test::Lines> {
  static String convert(const txbox::test::Lines& lines) {
    std::string text;
    for (const std::string& line : lines) text += "\n    " + line;
    return text.c_str();
  }
};
}  // namespace doctest
