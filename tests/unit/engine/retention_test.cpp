// When retention looks into which file: relay/engine/retention.hpp, and its steps between those of the core.

#include "relay/engine/retention.hpp"

#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core_fixture.hpp"

namespace txbox::test {

using namespace relay;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kNow = 1'700'000'000'000;
constexpr std::int64_t kDay = 86'400'000;

event::Pruned pruned(std::int64_t deleted, bool more, DatabaseIndex index = 0) {
  event::Pruned event;
  event.database = index;
  event.step.deleted = deleted;
  event.step.more = more;
  event.took = 3ms;
  return event;
}

CoreOptions keeping(std::chrono::milliseconds sent) {
  CoreOptions options;
  options.keep.sent = sent;
  return options;
}

/// A look that finds nothing.
void look(Retention& retention, PruneBook& book, std::int64_t wall_ms, std::optional<std::int64_t> oldest_ms) {
  REQUIRE(retention.wants(book, wall_ms));
  (void)retention.begin(0, book, wall_ms);
  event::Pruned nothing = pruned(0, false);
  nothing.step.oldest_sent_ms = oldest_ms;
  retention.done(nothing, book, SteadyTime(1h), wall_time_from_ms(wall_ms));
}

/// Several files, of which only the steps of retention are looked at.
struct Files {
  explicit Files(DatabaseIndex count) : core(keeping(0ms), test_partitioner, test_error_text) {
    for (DatabaseIndex index = 0; index < count; ++index) {
      event::DatabaseOpened opened;
      opened.database = index;
      step(opened);
    }
  }
  void step(const Event& event) {
    Commands out;
    core.step(steady, wall_time_from_ms(kNow), event, out);
    for (const Command& command : out.other) {
      if (const auto* prune = std::get_if<command::Prune>(&command)) wishes.push_back(prune->database);
    }
  }
  [[nodiscard]] std::vector<DatabaseIndex> take() { return std::exchange(wishes, {}); }

  Core core;
  SteadyTime steady{1h};
  std::vector<DatabaseIndex> wishes;
};

}  // namespace

TEST_CASE("where everything is kept retention never looks") {
  Retention retention({});
  PruneBook book;
  CHECK_FALSE(retention.wants(book, kNow));
  retention.sent(book, kNow);
  CHECK_FALSE(retention.wants(book, kNow + 1'000 * kDay));
}

TEST_CASE("a step names what is old by now, and each kind has a limit of its own") {
  Retention retention({.sent = 24h, .skipped = 1h});
  PruneBook book;
  const command::Prune both = retention.begin(3, book, kNow);
  CHECK(both.database == 3);
  CHECK(both.limits.sent_before_ms == kNow - kDay);
  CHECK(both.limits.skipped_before_ms == kNow - 3'600'000);
  CHECK_FALSE(retention.idle());
  PruneBook other;
  CHECK(Retention({.sent = 0ms, .skipped = {}}).begin(0, other, kNow).limits.skipped_before_ms == 0);
  PruneBook third;
  CHECK(Retention({.sent = {}, .skipped = 0ms}).begin(0, third, kNow).limits.sent_before_ms == 0);
  PruneBook old;
  CHECK(Retention({.sent = 36'525 * 24h, .skipped = {}}).begin(0, old, 1'000).limits.sent_before_ms == 1);
}

TEST_CASE("a pause follows each step: three times as long, and a hundred times where there was nothing to do") {
  Retention retention({.sent = 24h, .skipped = {}});
  const SteadyTime now(1h);
  const auto pause_after = [&](const event::Pruned& step) {
    PruneBook book;
    (void)retention.begin(0, book, kNow);
    retention.done(step, book, now, wall_time_from_ms(kNow));
    return retention.not_before() - now;
  };
  CHECK(pause_after(pruned(0, true)) == 9ms);
  CHECK(pause_after(pruned(5, false)) == 9ms);
  CHECK(pause_after(pruned(0, false)) == 300ms);
}

TEST_CASE("the next look comes when the oldest receipt has its age, and an hour later at the latest") {
  Retention retention({.sent = 30min, .skipped = {}});
  PruneBook book;
  look(retention, book, kNow, kNow - 20 * 60'000);
  CHECK_FALSE(retention.wants(book, kNow + 10 * 60'000 - 1'000));
  CHECK(retention.wants(book, kNow + 10 * 60'000 + 1));
  look(retention, book, kNow + 3'600'000, std::nullopt);
  CHECK_FALSE(retention.wants(book, kNow + 3'600'000 + 3'599'000));
  CHECK(retention.wants(book, kNow + 3'600'000 + 3'600'000));
  // What is sent meanwhile has its age before that.
  look(retention, book, kNow + 10'000'000, std::nullopt);
  retention.sent(book, kNow + 10'000'000);
  CHECK(retention.wants(book, kNow + 10'000'000 + 30 * 60'000));
}

TEST_CASE("a clock that goes back, and receipts of the future, put retention off by no more than an hour") {
  Retention retention({.sent = 24h, .skipped = {}});
  PruneBook book;
  look(retention, book, kNow, kNow + 1'000 * kDay);
  CHECK(retention.wants(book, kNow + 3'600'000));
  look(retention, book, kNow + 3'600'000, std::nullopt);
  CHECK(retention.wants(book, kNow - 400 * kDay));
}

TEST_CASE("each step is followed by a pause three times as long, and one that was put off by a longer one") {
  Retention retention({.sent = 1s, .skipped = {}});
  PruneBook book;
  (void)retention.begin(0, book, kNow);
  retention.done(pruned(100, true), book, SteadyTime(1h), wall_time_from_ms(kNow));
  CHECK(retention.not_before() == SteadyTime(1h) + 9ms);
  CHECK(retention.wants(book, kNow));
  CHECK(retention.rows() == 100);
  (void)retention.begin(0, book, kNow);
  event::Pruned busy = pruned(0, false);
  busy.put_off = true;
  retention.done(busy, book, SteadyTime(1h), wall_time_from_ms(kNow));
  CHECK(retention.not_before() == SteadyTime(1h) + 50ms);
  CHECK(retention.wants(book, kNow));
}

TEST_CASE("a backlog and marks that never end do not starve retention, and one step at a time keeps them going") {
  CoreFixture relay(keeping(0ms));
  REQUIRE(relay.take<command::Prune>().size() == 1);
  relay.step(pruned(0, false));
  std::int64_t next = 1;
  std::size_t steps = 0;
  for (int round = 0; round < 100; ++round) {
    relay.wake();
    relay.read(rows_of_key(next, next + 9));
    for (std::int64_t row = next; row < next + 10; ++row) relay.report(row, ReportKind::sent);
    next += 10;
    relay.advance(30ms);
    // Of two marks under way one is answered: there is always another.
    while (relay.marks.size() > 1) relay.marked();
    const auto wishes = relay.take<command::Prune>();
    CHECK(wishes.size() <= 1);
    steps += wishes.size();
    if (!wishes.empty()) relay.step(pruned(5, true));
  }
  CHECK(steps > 80);
  CHECK(relay.core.status().pruned == static_cast<std::int64_t>(5 * steps));
}

TEST_CASE("retention goes from file to file, one step each") {
  Files files(4);
  std::vector<DatabaseIndex> order;
  for (int round = 0; round < 8; ++round) {
    const auto wishes = files.take();
    REQUIRE(wishes.size() == 1);
    order.push_back(wishes[0]);
    files.step(pruned(1, true, wishes[0]));
    CHECK(files.take().empty());
    CHECK(files.core.next_tick() <= files.steady + 9ms);
    files.steady += 9ms;
    files.step(event::Tick{});
  }
  CHECK(order == std::vector<DatabaseIndex>{0, 1, 2, 3, 0, 1, 2, 3});
}

TEST_CASE("a file that ends in the middle of a step leaves retention to the others") {
  Files files(2);
  REQUIRE(files.take() == std::vector<DatabaseIndex>{0});
  files.step(event::DatabaseClosed{0});
  CHECK(files.take() == std::vector<DatabaseIndex>{1});
  files.step(pruned(7, true, 0));
  CHECK(files.core.status().pruned == 0);
}

TEST_CASE("a new limit is taken up at once, and none leaves everything as it is") {
  CoreFixture relay(keeping(24h));
  relay.step(pruned(0, false));
  (void)relay.take<command::Prune>();
  relay.advance(1s);
  CHECK(relay.take<command::Prune>().empty());
  relay.step(event::RetentionPolicy{{.sent = 1h, .skipped = {}}});
  const auto wishes = relay.take<command::Prune>();
  REQUIRE(wishes.size() == 1);
  CHECK(wishes[0].limits.sent_before_ms == to_ms(relay.wall) - 3'600'000);
  relay.step(event::RetentionPolicy{});
  relay.step(pruned(10, true));
  relay.advance(1h);
  CHECK(relay.take<command::Prune>().empty());
}

}  // namespace txbox::test
