#include <algorithm>

#include <doctest/doctest.h>

#include "core_fixture.hpp"

using namespace txbox;
using namespace txbox::test;
using namespace txbox::inbox;
using namespace txbox::inbox::consumer;
using namespace std::chrono_literals;

namespace {

using Kind = event::Applied::Kind;

const Lines kInside = {"begin", "apply", "failed", "started", "dead", "close"};

TestPlace clean_at_seven() { return {.stored = 7, .committed = 7}; }
TestPlace unclean_at_seven() { return {.stored = 7, .clean = false, .committed = 7}; }
TestPlace another_at_one() { return {.place = {"o", 1}, .stored = 1, .committed = 1}; }

void settle(ConsumerFixture& fixture, const std::vector<TestPlace>& places) {
  fixture.assigned(places);
  static_cast<void>(fixture.take());
}

event::Applied answer(Kind kind, const std::string& reason = {}, std::chrono::milliseconds delay = 0ms) {
  event::Applied applied;
  applied.kind = kind;
  applied.reason = reason;
  applied.delay = delay;
  return applied;
}

CoreOptions attempts(int most) {
  CoreOptions options;
  options.attempts = most;
  options.retry = {100ms, 100ms};
  return options;
}

}  // namespace

TEST_CASE("a failed message waits with what follows it, the position stays, and the other partitions go on") {
  ConsumerFixture fixture;
  settle(fixture, {clean_at_seven(), another_at_one()});
  fixture.will(8, answer(Kind::retry_after, {}, 5s));
  fixture.arrive({7, 8, 9});
  fixture.arrive({"o", 1}, {1});
  fixture.idle();
  CHECK(fixture.take({"apply", "failed", "close", "pause"}) ==
        Lines{"apply o0@7 #1", "apply o0@8 #1", "failed o0@8 +5000ms: the handler asked for another try",
              "apply o1@1 #1", "close o0:7>8 o1:1>2", "pause o0"});
  fixture.arrive({"o", 1}, {2});
  fixture.advance(1s);
  CHECK(fixture.take({"apply"}) == Lines{"apply o1@2 #1"});
  CHECK(fixture.core.next_tick() <= fixture.steady + 4s);
  fixture.advance(4s);
  CHECK(fixture.take({"apply", "close", "resume"}) ==
        Lines{"resume o0", "apply o0@8 #2", "apply o0@9 #1", "close o0:8>10 forget o0@8"});
  CHECK(fixture.core.status().retried == 1);
}

TEST_CASE("a wait may be as long as a number can say") {
  ConsumerFixture fixture;
  settle(fixture, {clean_at_seven()});
  fixture.will(7, answer(Kind::retry_after, {}, std::chrono::milliseconds::max()));
  fixture.arrive({7});
  fixture.idle();
  fixture.advance(24h);
  CHECK(fixture.take({"apply"}) == Lines{"apply o0@7 #1"});
}

TEST_CASE("a failed try alone checks by compare-and-set that the partition is still this consumer's") {
  ConsumerFixture fixture(attempts(5));
  settle(fixture, {clean_at_seven()});
  fixture.will_fail(7);
  fixture.arrive({7});
  fixture.idle();
  CHECK(fixture.take({"close"}) == Lines{"close o0:7>7"});
}

TEST_CASE("the last attempt ends as a dead letter in the same transaction, and the partition goes on") {
  ConsumerFixture fixture(attempts(3));
  settle(fixture, {clean_at_seven()});
  fixture.will_fail(7, 3);
  fixture.arrive({7, 8});
  fixture.idle();
  fixture.advance(100ms);
  static_cast<void>(fixture.take());
  fixture.advance(100ms);
  CHECK(fixture.take(kInside) ==
        Lines{"begin", "apply o0@7 #3", "dead o0@7 #3: no such account", "apply o0@8 #1", "close o0:7>9 forget o0@7"});
  CHECK(fixture.core.status().dead_letters_to_outbox == 1);
  CHECK(fixture.core.status().retried == 2);
  CHECK(fixture.said("o[0] 7 was given up after 3 attempts and goes to o.dlq through the outbox"));
  CHECK(fixture.said("`outbox-relay ls --db FILE --topic o.dlq` shows it"));
  CHECK_FALSE(fixture.said("no such account"));
}

TEST_CASE("back-off between attempts doubles up to its limit") {
  CoreOptions options = attempts(9);
  options.retry = {100ms, 400ms};
  ConsumerFixture fixture(options);
  settle(fixture, {clean_at_seven()});
  fixture.will_fail(7, 5);
  fixture.arrive({7});
  fixture.idle();
  for (int times = 0; times < 4; ++times) fixture.advance(400ms);
  const Lines lines = fixture.take({"failed"});
  REQUIRE(lines.size() == 5);
  const auto pause = [&lines](std::size_t index) { return std::stoi(lines[index].substr(lines[index].find('+') + 1)); };
  CHECK(pause(0) <= 100);
  CHECK(pause(1) >= 100);
  CHECK(pause(4) >= 200);
  CHECK(pause(4) <= 400);
}

TEST_CASE("park is a dead letter at once") {
  ConsumerFixture fixture;
  settle(fixture, {clean_at_seven()});
  fixture.dead_letters_kept = event::DeadLettered::Kept::parked;
  fixture.will(7, answer(Kind::park, "a debit without an account"));
  fixture.arrive({7, 8});
  fixture.idle();
  CHECK(fixture.take(kInside) ==
        Lines{"begin", "apply o0@7 #1", "dead o0@7 #1: a debit without an account", "apply o0@8 #1", "close o0:7>9"});
  CHECK(fixture.core.status().dead_letters_parked == 1);
  CHECK(fixture.said("o[0] 7 was given up after 1 attempt and is kept in this database (inbox_parked)"));
  CHECK(fixture.said("`outbox-relay inbox ls --db FILE --group billing --parked` shows it"));
  CHECK_FALSE(fixture.said("a debit"));
}

TEST_CASE("a copy of a dead letter is called a copy, and nobody is told that it was kept") {
  ConsumerFixture fixture;
  settle(fixture, {clean_at_seven()});
  fixture.dead_letters_kept = event::DeadLettered::Kept::given_up_before;
  fixture.will(7, answer(Kind::park, "a debit without an account"));
  fixture.arrive({7});
  fixture.idle();
  CHECK(fixture.said("o[0] 7 is a copy of an event that was given up before"));
  CHECK_FALSE(fixture.said("inbox_parked"));
  CHECK(fixture.core.status().dead_letters_parked == 1);
}

TEST_CASE("tries of earlier lives count, and their wait is kept") {
  ConsumerFixture fixture;
  TestPlace place = clean_at_seven();
  place.tries = {{7, 0, 2, to_ms(fixture.wall) + 3'000}};
  settle(fixture, {place});
  fixture.arrive({7});
  fixture.idle();
  CHECK(fixture.take() == Lines{"pause o0"});
  fixture.advance(3s);
  CHECK(fixture.take({"apply"}) == Lines{"apply o0@7 #3"});
}

TEST_CASE("a wait of days is kept over a start, and a wall clock that went back does not prolong it") {
  constexpr auto kThreeDays = std::chrono::duration_cast<std::chrono::milliseconds>(72h);
  std::int64_t recorded_at_ms = 0;
  ConsumerFixture fixture;
  SUBCASE("the clock went on") { recorded_at_ms = to_ms(fixture.wall) - 5'000; }
  SUBCASE("the clock was ten years ahead then") {
    recorded_at_ms = to_ms(fixture.wall + std::chrono::hours(10 * 365 * 24));
  }
  TestPlace place = clean_at_seven();
  const std::int64_t from = std::max(recorded_at_ms, to_ms(fixture.wall));
  place.tries = {{7, 0, 2, from + kThreeDays.count(), recorded_at_ms}};
  settle(fixture, {place});
  fixture.arrive({7});
  fixture.idle();
  fixture.advance(kThreeDays - 1ms);
  CHECK(fixture.take({"apply"}).empty());
  fixture.advance(1ms);
  CHECK(fixture.take({"apply"}) == Lines{"apply o0@7 #3"});
}

TEST_CASE("tries at the offsets of another topic's records do not count where the position jumps") {
  CoreOptions options = attempts(3);
  options.offset_out_of_range = OffsetOutOfRange::earliest;
  ConsumerFixture fixture(options);
  TestPlace made_anew = clean_at_seven();
  made_anew.stored = made_anew.committed = 90;
  made_anew.high = 3;
  made_anew.tries = {{2, 3, 0, 0}, {90, 3, 0, 0}};
  settle(fixture, {made_anew});
  fixture.arrive({0, 1, 2});
  fixture.idle();
  CHECK(fixture.take({"apply", "dead"}) == Lines{"apply o0@0 #1", "apply o0@1 #1", "apply o0@2 #1"});
}

TEST_CASE("the wait of a message behind the first is kept as well") {
  ConsumerFixture fixture;
  TestPlace place = clean_at_seven();
  place.tries = {{8, 0, 2, to_ms(fixture.wall) + 3'000}};
  settle(fixture, {place});
  fixture.arrive({7, 8});
  fixture.idle();
  CHECK(fixture.take({"apply", "close", "pause"}) == Lines{"apply o0@7 #1", "close o0:7>8", "pause o0"});
  fixture.advance(3s);
  CHECK(fixture.take({"apply"}) == Lines{"apply o0@8 #3"});
}

TEST_CASE("after an unclean end messages run one by one, the start of the next committed with the effect before") {
  ConsumerFixture fixture;
  settle(fixture, {unclean_at_seven()});
  fixture.arrive({7, 8});
  fixture.idle();
  CHECK(fixture.take(kInside) == Lines{"begin", "started o0@7", "close o0:7>7", "begin", "apply o0@7 #1",
                                       "started o0@8", "close o0:7>8 forget o0@7", "begin", "apply o0@8 #1",
                                       "close o0:8>9 forget o0@8"});
}

TEST_CASE("only the first batch_messages of an unclean partition are suspects") {
  CoreOptions options;
  options.batch_messages = 2;
  ConsumerFixture fixture(options);
  settle(fixture, {unclean_at_seven()});
  fixture.arrive({7, 8});
  static_cast<void>(fixture.take());
  fixture.arrive({9, 10});
  CHECK(fixture.take(kInside) == Lines{"begin", "apply o0@9 #1", "apply o0@10 #1", "close o0:9>11"});
}

TEST_CASE("suspects do not share a transaction with other partitions, and keep none of them waiting") {
  ConsumerFixture fixture;
  settle(fixture, {unclean_at_seven(), another_at_one()});
  fixture.arrive({7});
  fixture.arrive({"o", 1}, {1, 2});
  fixture.idle();
  fixture.idle();
  CHECK(fixture.take({"started", "apply", "close"}) == Lines{"started o0@7", "close o0:7>7", "apply o0@7 #1",
                                                             "close o0:7>8 forget o0@7", "apply o1@1 #1",
                                                             "apply o1@2 #1", "close o1:1>3"});
}

TEST_CASE("a partition that was given up in order, or is new, has no suspects") {
  ConsumerFixture fixture;
  TestPlace fresh{.clean = false, .committed = 7};
  settle(fixture, {fresh});
  fixture.arrive({7, 8});
  fixture.idle();
  CHECK(fixture.take({"apply", "started"}) == Lines{"apply o0@7 #1", "apply o0@8 #1"});
}

TEST_CASE("a message that ended the process as often as there are attempts is given up unseen") {
  ConsumerFixture fixture(attempts(3));
  TestPlace place = unclean_at_seven();
  place.tries = {{7, 3, 0, 0}};
  settle(fixture, {place});
  fixture.arrive({7, 8});
  fixture.idle();
  fixture.idle();
  CHECK(fixture.take({"apply", "dead"}) == Lines{"dead o0@7 #3: it ended the process 3 times", "apply o0@8 #1"});
}

TEST_CASE("over all lives a message that ends the process is started once more than there are attempts, no more") {
  int recorded = 0;
  int started = 0;
  bool given_up = false;
  for (int life = 0; life < 20 && !given_up; ++life) {
    ConsumerFixture fixture(attempts(5));
    TestPlace place = life == 0 ? clean_at_seven() : unclean_at_seven();
    if (recorded > 0) place.tries = {{7, recorded, 0, 0}};
    settle(fixture, {place});
    fixture.arrive({7, 8});
    fixture.idle();
    for (const std::string& line : fixture.take({"started o0@7", "apply o0@7", "dead o0@7"})) {
      if (line.starts_with("dead")) given_up = true;
      ++(line.starts_with("apply") ? started : recorded);
      if (line.starts_with("apply")) break;  // There it ends.
    }
  }
  CHECK(given_up);
  CHECK(started == 6);
}

TEST_CASE("started and failed tries count together") {
  ConsumerFixture fixture(attempts(3));
  TestPlace place = unclean_at_seven();
  SUBCASE("the last one ended the process") {
    place.tries = {{7, 1, 2, 0}};
    settle(fixture, {place});
    fixture.arrive({7});
    fixture.idle();
    CHECK(fixture.take({"apply", "dead"}) == Lines{"dead o0@7 #3: it was tried 3 times and ended the process 1 time"});
  }
  SUBCASE("one is left") {
    place.tries = {{7, 1, 1, 0}};
    settle(fixture, {place});
    fixture.arrive({7});
    fixture.idle();
    CHECK(fixture.take({"started", "apply"}) == Lines{"started o0@7", "apply o0@7 #3"});
  }
}

TEST_CASE("a try that was recorded as started and failed counts once, and the next one is recorded again") {
  ConsumerFixture fixture(attempts(5));
  settle(fixture, {unclean_at_seven()});
  fixture.will_fail(7);
  fixture.arrive({7});
  fixture.idle();
  const Lines lines = fixture.take({"failed"});
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("failed o0@7 started +"));
  fixture.advance(100ms);
  CHECK(fixture.take({"started", "apply"}) == Lines{"started o0@7", "apply o0@7 #2"});
}

TEST_CASE("a message that was started in an earlier life is a suspect also in a clean partition") {
  ConsumerFixture fixture;
  TestPlace place = clean_at_seven();
  place.tries = {{8, 1, 0, 0}};
  settle(fixture, {place});
  fixture.arrive({7, 8});
  fixture.idle();
  fixture.idle();
  CHECK(fixture.take({"started", "apply"}) == Lines{"apply o0@7 #1", "started o0@8", "apply o0@8 #2"});
}

TEST_CASE("suspects leave time to look after the group, and what was started is tried first") {
  ConsumerFixture fixture;
  settle(fixture, {unclean_at_seven()});
  fixture.handler_takes = 600ms;
  fixture.arrive({7, 8});
  fixture.idle();
  CHECK(fixture.take({"started", "apply"}) == Lines{"started o0@7", "apply o0@7 #1"});
  fixture.idle();
  CHECK(fixture.take({"started", "apply"}) == Lines{"started o0@8", "apply o0@8 #1"});
}

TEST_CASE("a busy database between the record of a start and its try is no try") {
  ConsumerFixture fixture;
  settle(fixture, {unclean_at_seven()});
  fixture.begin_failures = {"database is locked"};
  fixture.arrive({7});
  fixture.idle();
  fixture.begin_failures = {"database is locked"};
  fixture.advance(1s);
  fixture.advance(1s);
  CHECK(fixture.take({"started", "apply"}) == Lines{"started o0@7", "apply o0@7 #1"});
}

TEST_CASE("a start that was recorded and did not happen is taken back when the partition is given up") {
  ConsumerFixture busy;
  settle(busy, {unclean_at_seven()});
  busy.arrive({7, 8});
  busy.closes = {{event::Closed::Result::committed, ""}, {event::Closed::Result::failed, "disk is full"}};
  busy.idle();
  static_cast<void>(busy.take());
  busy.revoked();
  CHECK(busy.take({"give"}) == Lines{"give up o0@7/1 unclean not tried 7"});
}

TEST_CASE("suspects that are left when the partition is given up are suspects for the next owner too") {
  ConsumerFixture fixture;
  settle(fixture, {unclean_at_seven()});
  fixture.arrive({7});
  fixture.idle();
  static_cast<void>(fixture.take());
  SUBCASE("by a rebalance") {
    fixture.revoked();
    CHECK(fixture.take({"give"}) == Lines{"give up o0@8/1 unclean"});
  }
  SUBCASE("by a stop") {
    fixture.stop();
    CHECK(fixture.take({"give"}) == Lines{"give up o0@8/1 unclean"});
  }
  SUBCASE("by a conflict") {
    fixture.closes.push_back({event::Closed::Result::conflict, {}});
    fixture.arrive({8});
    fixture.idle();
    CHECK(fixture.take({"give"}) == Lines{"give up o0@8/1 unclean"});
  }
}

TEST_CASE("a partition whose taking has to be done over stays as unclean as it was") {
  ConsumerFixture fixture;
  fixture.moved[{"o", 0}] = 9;
  fixture.assigned({unclean_at_seven()});
  CHECK(fixture.take() == Lines{"load o0", "take o0", "give up o0@9/2 unclean"});
}

TEST_CASE("own reassignment after a conflict keeps the count of suspects") {
  CoreOptions options;
  options.batch_messages = 2;
  ConsumerFixture fixture(options);
  settle(fixture, {unclean_at_seven()});
  fixture.arrive({7});
  fixture.idle();
  fixture.step(event::OutOfRange{{"o", 0}, "Offset out of range"});
  fixture.arrive({8});
  fixture.idle();
  static_cast<void>(fixture.take());
  fixture.arrive({9, 10});
  CHECK(fixture.take({"started", "apply"}) == Lines{"apply o0@9 #1", "apply o0@10 #1"});
}

TEST_CASE("a message without an id is given up unseen, or ends the run") {
  CoreOptions options;
  SUBCASE("park") {
    ConsumerFixture fixture(options);
    settle(fixture, {clean_at_seven()});
    fixture.has_id = false;
    fixture.arrive({7});
    fixture.has_id = true;
    fixture.arrive({8});
    fixture.idle();
    const Lines lines = fixture.take({"apply", "dead", "close"});
    REQUIRE(lines.size() == 3);
    CHECK(lines[0].starts_with("dead o0@7 #0: it has no event id"));
    CHECK(fixture.said("o[0] 7 was given up untried and goes to o.dlq"));
    CHECK(lines[2] == "close o0:7>9");
  }
  SUBCASE("reject") {
    options.missing_id = MissingId::reject;
    ConsumerFixture fixture(options);
    settle(fixture, {clean_at_seven()});
    fixture.arrive({7});
    fixture.has_id = false;
    fixture.arrive({8, 9});
    fixture.idle();
    CHECK(fixture.take({"apply", "close", "kafka"}) == Lines{"apply o0@7 #1", "close o0:7>8", "kafka o0@8 waited"});
    REQUIRE(fixture.end);
    CHECK(fixture.end->starts_with("fail " + std::string(to_string(ErrorCode::refused)) + ": o[0]"));
  }
}

TEST_CASE("a handler that ends the transaction fails alone: what came before it is done again without it") {
  ConsumerFixture fixture;
  settle(fixture, {clean_at_seven()});
  fixture.will(8, answer(Kind::rolled_back, "it called ROLLBACK"));
  fixture.arrive({7, 8, 9});
  fixture.idle();
  const Lines lines = fixture.take(kInside);
  REQUIRE(lines.size() == 7);
  CHECK(lines[3] == "begin");
  CHECK(lines[4] == "apply o0@7 #1");
  CHECK(lines[5].starts_with("failed o0@8 +"));
  CHECK(lines[6] == "close o0:7>8");
}

TEST_CASE("a message in which the database fails runs alone, costs no attempt, and keeps only its partition waiting") {
  ConsumerFixture fixture;
  settle(fixture, {clean_at_seven(), another_at_one()});
  fixture.fail_inside[8] = 2;
  fixture.arrive({7, 8});
  fixture.arrive({"o", 1}, {1});
  fixture.idle();
  CHECK(fixture.take({"apply", "close"}) ==
        Lines{"apply o0@7 #1", "apply o0@8 #1", "apply o0@7 #1", "apply o1@1 #1", "close o0:7>8 o1:1>2"});
  fixture.idle();
  CHECK(fixture.take({"apply", "pause", "failed"}) == Lines{"apply o0@8 #1", "pause o0"});
  fixture.advance(5s);
  CHECK(fixture.take({"apply", "close"}) == Lines{"apply o0@8 #1", "close o0:8>9"});
}
