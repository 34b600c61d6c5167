// Many databases beside each other: a backlog starves nobody, what ends takes nothing along, idle ones cost no reading.

#include <deque>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "core_fixture.hpp"

namespace txbox::test {

using namespace relay;
using namespace std::chrono_literals;

namespace {

event::DatabaseOpened opened(DatabaseIndex index, std::optional<std::int64_t> next_due_ms = std::nullopt) {
  event::DatabaseOpened event;
  event.database = index;
  event.next_due_ms = next_due_ms;
  return event;
}

/// One core over so many databases; readings, marks and reports are answered by hand.
class Crowd {
 public:
  explicit Crowd(DatabaseIndex count, CoreOptions options = {}) : core(options, test_partitioner, test_error_text) {
    for (DatabaseIndex index = 0; index < count; ++index) step(opened(index));
    // The pass over held rows that follows each opening.
    for (DatabaseIndex index = 0; index < count; ++index) {
      read(index, {});
      read_ready(index);
    }
  }

  void step(const Event& event) {
    Commands out;
    core.step(steady, wall, event, out);
    for (const command::Produce& produce : out.produce) handed[produce.database].push_back(produce);
    for (Command& command : out.other) take(command);
  }

  /// Answers the outstanding reading of rows, if there is one, with `rows`.
  void read(DatabaseIndex index, const std::vector<TestRow>& rows, bool exhausted = true) {
    const auto wish = reading.find(index);
    if (wish == reading.end()) return;
    const command::Read read = wish->second;
    reading.erase(wish);
    ++readings[index];
    std::vector<store::OutboxRow> views;
    for (const TestRow& row : rows) {
      if (row.id > read.after && static_cast<std::int64_t>(views.size()) < read.limits.rows)
        views.push_back(row.view());
    }
    const bool all = views.empty() || views.back().id == rows.back().id;
    step(event::RowsRead{index, read.after, views, exhausted && all, rows.empty() ? 0 : rows.back().id});
  }

  void read_ready(DatabaseIndex index) {
    if (reading_ready.erase(index) > 0) step(event::ReadyRead{index, 0, {}, true});
  }

  void acknowledge(DatabaseIndex index) {
    std::vector<event::Report> reports;
    for (const command::Produce& produce : handed[index]) {
      event::Report report;
      report.database = index;
      report.row = next_row[index]++;
      report.producer = produce.producer;
      report.generation = produce.generation;
      report.kind = ReportKind::sent;
      report.partition = produce.partition;
      report.offset = next_offset++;
      reports.push_back(report);
    }
    handed[index].clear();
    step(event::Reports{reports});
  }

  void pass(std::chrono::milliseconds time) {
    const SteadyTime end = steady + time;
    while (steady < end) {
      steady = std::min(end, std::max(steady + 1ms, core.next_tick()));
      step(event::Tick{});
      for (auto index = reading.begin(); index != reading.end(); index = reading.begin()) read(index->first, {});
      while (!reading_ready.empty()) read_ready(*reading_ready.begin());
    }
  }

  Core core;
  SteadyTime steady{std::chrono::hours(1)};
  WallTime wall{std::chrono::milliseconds(1'700'000'000'000)};
  std::map<DatabaseIndex, std::vector<command::Produce>> handed;
  std::map<DatabaseIndex, command::Read> reading;
  std::set<DatabaseIndex> reading_ready;
  std::map<DatabaseIndex, int> readings;
  std::map<DatabaseIndex, std::int64_t> next_row;
  std::deque<command::Mark> marks;
  std::vector<DatabaseIndex> due;  ///< Of whose scheduled rows some were to be released.
  std::int64_t next_offset = 0;

 private:
  void take(Command& command) {
    if (const auto* read = std::get_if<command::Read>(&command)) reading.insert_or_assign(read->database, *read);
    if (const auto* ready = std::get_if<command::ReadReady>(&command)) reading_ready.insert(ready->database);
    if (const auto* mark = std::get_if<command::Mark>(&command)) marks.push_back(*mark);
    if (const auto* release = std::get_if<command::ReleaseDue>(&command)) due.push_back(release->database);
    const auto* describe = std::get_if<command::Describe>(&command);
    if (describe == nullptr) return;
    for (const std::string& topic : describe->topics) step(event::TopicDescribed{topic, usable_topic()});
  }
};

std::vector<TestRow> backlog(std::int64_t rows) { return rows_of_key(1, rows); }

}  // namespace

TEST_CASE("a file whose rows are never acknowledged leaves room for another one") {
  CoreOptions options;
  options.window_rows = 100;
  options.read.rows = 20;
  Crowd crowd(2, options);
  crowd.step(event::Woken{0});
  for (int turn = 0; turn < 20; ++turn) crowd.read(0, backlog(1000), false);
  const std::size_t stuck = crowd.handed[0].size();
  CHECK(stuck > 0);
  CHECK(stuck <= 50);
  crowd.step(event::Woken{1});
  crowd.read(1, backlog(10));
  CHECK(crowd.handed[1].size() == 10);
}

TEST_CASE("one database alone has the whole window") {
  CoreOptions options;
  options.window_rows = 100;
  options.read.rows = 20;
  Crowd crowd(1, options);
  crowd.step(event::Woken{0});
  for (int turn = 0; turn < 20; ++turn) crowd.read(0, backlog(1000), false);
  CHECK(crowd.handed[0].size() == 100);
}

TEST_CASE("where many are stuck and the window is full, a file still gets its first rows out") {
  CoreOptions options;
  options.window_rows = 64;
  options.read.rows = 32;
  Crowd crowd(4, options);
  for (DatabaseIndex index = 0; index < 3; ++index) {
    crowd.step(event::Woken{index});
    for (int turn = 0; turn < 20; ++turn) crowd.read(index, backlog(1000), false);
  }
  crowd.step(event::Woken{3});
  crowd.read(3, backlog(1));
  CHECK(crowd.handed[3].size() == 1);
}

TEST_CASE("a database that ended counts no more, and its late answers are passed over") {
  Crowd crowd(2);
  crowd.step(event::Woken{0});
  crowd.read(0, backlog(5));
  crowd.read(0, backlog(5));  // The first one only asked for the topic.
  crowd.step(event::Woken{1});
  crowd.read(1, backlog(3));
  CHECK(crowd.core.status().in_flight_rows == 8);
  crowd.step(event::DatabaseClosed{0});
  CHECK(crowd.core.status().in_flight_rows == 3);
  CHECK(crowd.core.settled(0, 5));
  CHECK_FALSE(crowd.core.settled(1, 3));
  crowd.next_row = {{0, 1}, {1, 1}};
  crowd.acknowledge(0);
  CHECK(crowd.core.status().sent == 0);
  crowd.step(event::Marked{0, 1, {}});
  crowd.step(event::Released{});
  crowd.step(event::RowsRead{0, 5, {}, true, 5});
  crowd.acknowledge(1);
  CHECK(crowd.core.status().sent == 3);
  CHECK(crowd.core.status().in_flight_bytes == 0);
}

TEST_CASE("a number that is opened anew begins anew") {
  Crowd crowd(1);
  crowd.step(event::Woken{0});
  crowd.read(0, backlog(5));
  crowd.read(0, backlog(5));
  crowd.step(event::DatabaseClosed{0});
  crowd.handed.clear();
  crowd.reading.clear();
  crowd.step(opened(0));
  crowd.read_ready(0);
  crowd.read(0, backlog(2));
  CHECK(crowd.handed[0].size() == 2);
}

TEST_CASE("a stop waits for no database that ended") {
  Crowd crowd(2);
  crowd.step(event::Woken{0});
  crowd.read(0, backlog(5));
  crowd.read(0, backlog(5));
  crowd.step(event::StopRequested{});
  crowd.step(event::DatabaseClosed{0});
  CHECK(crowd.core.next_tick() == SteadyTime::max());
  CHECK(crowd.core.status().in_flight_rows == 0);
}

TEST_CASE("the floor reads a few files each second, one of a thousand in its turn") {
  Crowd few(2);
  few.readings.clear();
  few.pass(10s);
  CHECK(few.readings[0] >= 9);
  Crowd many(1000);
  many.readings.clear();
  many.pass(60s);
  int all = 0;
  for (const auto& [index, count] : many.readings) all += count;
  CHECK(many.readings.size() == 1000);
  CHECK(all <= 60 * 55);
}

TEST_CASE("a scheduled row of a file at rest is released when it is due") {
  Crowd crowd(2);
  const std::int64_t due = to_ms(crowd.wall) + 5'000;
  crowd.step(opened(1, due));
  CHECK(crowd.core.next_tick() <= crowd.steady + 5s);
}

TEST_CASE("a clock that is set is noticed within 20 ms where rows are scheduled, in files at rest too") {
  Crowd crowd(100);
  crowd.pass(1s);
  crowd.step(opened(7, to_ms(crowd.wall) + 3'600'000));
  crowd.read(7, {});
  crowd.read_ready(7);
  const auto pass_keeping_pace = [&](std::chrono::milliseconds time) {
    crowd.wall += time;
    crowd.pass(time);
  };
  pass_keeping_pace(100ms);
  CHECK(crowd.due.empty());
  // An hour that has not passed is over.
  crowd.wall += 1h;
  REQUIRE(crowd.core.next_tick() <= crowd.steady + 20ms);
  pass_keeping_pace(20ms);
  CHECK(crowd.due == std::vector<DatabaseIndex>{7});
  crowd.due.clear();
  // The clock goes back: what was due in a moment is due in an hour.
  crowd.step(event::Released{7, 1, false, to_ms(crowd.wall) + 500, 0});
  pass_keeping_pace(100ms);
  crowd.wall -= 1h;
  pass_keeping_pace(3'599s);
  CHECK(crowd.due.empty());
  pass_keeping_pace(2s);
  CHECK(crowd.due == std::vector<DatabaseIndex>{7});
}

TEST_CASE("where no row is scheduled nobody looks at the clock") {
  Crowd crowd(1);
  crowd.read(0, {});
  CHECK(crowd.core.next_tick() >= crowd.steady + 500ms);
}

}  // namespace txbox::test
