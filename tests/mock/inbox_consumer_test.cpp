#include <txbox/inbox/consumer.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <txbox/outbox/outbox.hpp>

#include "inbox_member.hpp"
#include "mock_kafka.hpp"
#include "support/expect_error.hpp"

using namespace std::chrono_literals;
using namespace txbox;
using inbox::Consumer;
using inbox::Message;
using inbox::Outcome;
using test::event;
using test::execute;
using test::InboxMember;
using test::publish;
using test::Published;
using test::recording;
using test::RunUntil;

TEST_CASE("a drain applies each event once, copies and a second run change nothing") {
  const InboxMember member(3);
  std::vector<Published> records;
  for (int i = 0; i < 300; ++i) {
    for (int copy = 0; copy <= i % 3; ++copy) records.push_back(event("e" + std::to_string(i), "p", i % 3));
  }
  publish(member.topic, records);
  Consumer consumer(member.options());
  consumer.on(member.topic, recording(consumer));
  consumer.drain({});
  CHECK(member.number("SELECT count(*) FROM effects") == 300);
  CHECK(member.number("SELECT count(DISTINCT event_id) FROM effects") == 300);
  CHECK(consumer.counts().applied == 300);
  CHECK(consumer.counts().duplicates == static_cast<std::int64_t>(records.size()) - 300);
  CHECK(member.number("SELECT sum(next_offset) FROM inbox_offsets") == static_cast<std::int64_t>(records.size()));
  CHECK(member.number("SELECT sum(clean) FROM inbox_offsets") == 3);

  publish(member.topic, {event("e1"), event("new")});
  consumer.drain({});
  CHECK(member.number("SELECT count(*) FROM effects") == 301);
  CHECK(consumer.counts().applied == 301);
}

TEST_CASE("a failed try is undone and comes again, and other partitions go on") {
  const InboxMember member(2);
  publish(member.topic, {event("bad", "p", 0), event("behind", "p", 0), event("other", "p", 1)});
  Consumer consumer(member.options());
  const auto record = recording(consumer);
  std::vector<int> attempts;
  consumer.on(member.topic, [&](sqlite3* db, const Message& message) -> Outcome {
    record(db, message);
    if (message.event_id == "bad") {
      attempts.push_back(message.attempt);
      if (message.attempt == 1) throw std::runtime_error("not yet");
      if (message.attempt == 2) return inbox::retry_after(300ms);
      if (message.attempt == 3) CHECK(test::AppDatabase(member.path).number("SELECT count(*) FROM effects") == 1);
    }
    return inbox::done;
  });
  consumer.drain({});
  CHECK(attempts == std::vector{1, 2, 3});
  CHECK(member.text("SELECT group_concat(event_id) FROM effects") == "other,bad,behind");
  CHECK(consumer.counts().retried == 2);
  CHECK(member.number("SELECT count(*) FROM inbox_attempts") == 0);
}

TEST_CASE("an event that always fails becomes one dead letter after its attempts, copies included") {
  const InboxMember member;
  publish(member.topic, {event("good"), event("bad", "x"), event("bad", "x"), event("later")});
  auto options = member.options();
  options.attempts = 3;
  Consumer consumer(options);
  const auto record = recording(consumer);
  int tries = 0;
  consumer.on(member.topic, [&](sqlite3* db, const Message& message) -> Outcome {
    record(db, message);
    if (message.event_id != "bad") return inbox::done;
    ++tries;
    if (tries % 2 == 0) throw 42;
    throw std::runtime_error("no such account");
  });
  consumer.drain({});
  CHECK(tries == 6);
  CHECK(member.text("SELECT group_concat(event_id) FROM effects") == "good,later");
  CHECK(member.number("SELECT count(*) FROM inbox_parked") == 1);
  CHECK(member.text("SELECT reason || ' ' || attempts FROM inbox_parked") == "no such account 3");
  CHECK(consumer.counts().dead_lettered == 2);
}

TEST_CASE("dead letters go through the outbox that the application installed, what it refuses is parked whole") {
  const InboxMember member;
  const std::string large(99'900, 'x');  // It fits; what a dead letter says beside it does not.
  publish(member.topic, {event("bad", "x"), event("large", large), {.payload = "no id", .headers = {{"a", "b"}}}});
  Consumer consumer(member.options());
  outbox::install(consumer.database(), {.max_record_bytes = 100'000});
  consumer.on(member.topic, [](sqlite3*, const Message&) { return inbox::park("no such account"); });
  consumer.drain({});
  CHECK(member.number("SELECT count(*) FROM outbox WHERE as_is = 1") == 2);
  CHECK(member.text("SELECT topic || ' ' || payload FROM outbox ORDER BY id LIMIT 1") == member.topic + ".dlq x");
  CHECK(member.text("SELECT headers FROM outbox ORDER BY id LIMIT 1").find(R"("id":"bad")") != std::string::npos);
  CHECK(member.text("SELECT payload FROM outbox ORDER BY id DESC LIMIT 1") == "no id");
  CHECK(member.text("SELECT event_id || length(payload) FROM inbox_parked") == "large99900");
  CHECK(consumer.counts().dead_letters_to_outbox == 2);
  CHECK(consumer.counts().dead_letters_parked == 1);
}

TEST_CASE("park gives a message up at once, and a later copy is tried again") {
  const InboxMember member;
  publish(member.topic, {event("bad"), event("bad")});
  Consumer consumer(member.options());
  const auto record = recording(consumer);
  int calls = 0;
  consumer.on(member.topic, [&](sqlite3* db, const Message& message) -> Outcome {
    record(db, message);
    return ++calls == 1 ? inbox::park("no such account") : inbox::done;
  });
  consumer.drain({});
  CHECK(calls == 2);
  CHECK(member.number("SELECT count(*) FROM effects") == 1);
  CHECK(member.number("SELECT count(*) FROM inbox WHERE event_id = 'bad' AND parked = 0") == 1);
  CHECK(member.number("SELECT count(*) FROM inbox_parked") == 1);
}

TEST_CASE("a message without an id follows the policy, and none is folded into another") {
  const InboxMember member;
  const std::vector<Published> records{{.payload = "none", .headers = {}},
                                       {.payload = "empty", .headers = {{"id", ""}}},
                                       {.payload = "two", .headers = {{"id", "a"}, {"id", "b"}}},
                                       event("good")};
  publish(member.topic, records);
  SUBCASE("park") {
    Consumer consumer(member.options());
    consumer.on(member.topic, recording(consumer));
    consumer.drain({});
    CHECK(member.text("SELECT group_concat(event_id) FROM effects") == "good");
    CHECK(member.number("SELECT count(*) FROM inbox_parked WHERE event_id IS NULL") == 3);
  }
  SUBCASE("coordinates") {
    auto options = member.options();
    options.missing_id = inbox::MissingId::coordinates;
    Consumer consumer(options);
    consumer.on(member.topic, recording(consumer));
    consumer.drain({});
    CHECK(member.text("SELECT group_concat(payload) FROM effects") == "none,empty,two,p");
    CHECK(member.number("SELECT count(*) FROM inbox WHERE event_id GLOB 'txbox:at:*'") == 3);
  }
  SUBCASE("reject") {
    auto options = member.options();
    options.missing_id = inbox::MissingId::reject;
    Consumer consumer(options);
    consumer.on(member.topic, recording(consumer));
    CHECK(test::code_of([&] { consumer.drain({}); }) == ErrorCode::refused);
    CHECK(member.number("SELECT count(*) FROM effects") == 0);
  }
}

TEST_CASE("slow work is prepared outside of the transaction, and its failure is a failed try") {
  const InboxMember member;
  publish(member.topic, {event("one"), event("two")});
  Consumer consumer(member.options());
  int prepared = 0;
  std::vector<int> attempts;
  consumer.on(member.topic, recording(consumer), [&](const Message& message) {
    CHECK(sqlite3_get_autocommit(consumer.database()) != 0);
    ++prepared;
    if (message.event_id != "two") return;
    attempts.push_back(message.attempt);
    if (message.attempt < 3) throw std::runtime_error("unreachable");
  });
  consumer.drain({});
  CHECK(prepared == 4);
  CHECK(attempts == std::vector{1, 2, 3});
  CHECK(consumer.counts().retried == 2);
  CHECK(member.text("SELECT group_concat(event_id || attempt) FROM effects") == "one1,two3");
}

TEST_CASE("topics have handlers of their own") {
  const InboxMember orders;
  const InboxMember payments;
  publish(orders.topic, {event("o")});
  publish(payments.topic, {event("p")});
  Consumer consumer(orders.options());
  const auto record = recording(consumer);
  std::string seen;
  const auto noting = [&](const char* name) {
    return [&seen, name, record](sqlite3* db, const Message& message) {
      seen += name + message.event_id + ' ';
      return record(db, message);
    };
  };
  consumer.on(orders.topic, noting("orders:"));
  consumer.on(payments.topic, noting("payments:"));
  consumer.drain({});
  CHECK(seen.find("orders:o") != std::string::npos);
  CHECK(seen.find("payments:p") != std::string::npos);
  CHECK(seen.size() == std::string("orders:o payments:p ").size());
}

TEST_CASE("a handler that commits ends the run with the reason") {
  const InboxMember member;
  publish(member.topic, {event("one")});
  Consumer consumer(member.options());
  const auto record = recording(consumer);
  consumer.on(member.topic, [&](sqlite3* db, const Message& message) -> Outcome {
    record(db, message);
    execute(db, "COMMIT");
    return inbox::done;
  });
  const auto error = test::error_of([&] { consumer.drain({}); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::no_transaction);
  CHECK(std::string(error->what()).find(member.topic) != std::string::npos);
}

TEST_CASE("a handler that moves the consumer's position ends the run with the reason") {
  const InboxMember member;
  publish(member.topic, {event("one"), event("two")});
  Consumer consumer(member.options());
  const auto record = recording(consumer);
  consumer.on(member.topic, [&](sqlite3* db, const Message& message) -> Outcome {
    if (message.event_id == "two") execute(db, "UPDATE inbox_offsets SET next_offset = next_offset + 1");
    return record(db, message);
  });
  const auto error = test::error_of([&] { consumer.drain({}); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::refused);
  CHECK(std::string(error->what()).find("inbox_offsets") != std::string::npos);
  CHECK(member.number("SELECT count(*) FROM effects WHERE event_id = 'two'") == 0);
}

TEST_CASE("a partition without a leader keeps none of the others waiting, and is read once it has one") {
  const InboxMember member(3);
  publish(member.topic, {event("zero", "p", 0), event("one", "p", 1), event("two", "p", 2)});
  test::mock_kafka().set_leader(member.topic, 0, -1);
  Consumer consumer(member.options());
  const auto record = recording(consumer);
  RunUntil until;
  std::vector<std::string> applied;
  consumer.on(member.topic, [&](sqlite3* db, const Message& message) -> Outcome {
    applied.push_back(message.event_id);
    if (applied.size() == 2) test::mock_kafka().set_leader(member.topic, 0, 1);
    if (message.event_id == "zero") until.stop();
    return record(db, message);
  });
  until.run(consumer);
  REQUIRE(applied.size() == 3);
  CHECK(applied.back() == "zero");
  CHECK(member.number("SELECT sum(next_offset) FROM inbox_offsets") == 3);
}

TEST_CASE("a full disk costs no attempt, and the message is applied when there is room") {
  const InboxMember member;
  publish(member.topic, {event("one"), event("large"), event("two")});
  auto options = member.options();
  options.attempts = 1;
  Consumer* running = nullptr;
  int full = 0;
  options.log = [&](LogLevel level, std::string_view text) {
    if (level != LogLevel::warning || text.find("full") == std::string_view::npos) return;
    if (++full == 2) execute(running->database(), "PRAGMA max_page_count=1000000");
  };
  Consumer consumer(options);
  running = &consumer;
  const auto record = recording(consumer);
  int calls = 0;
  consumer.on(member.topic, [&](sqlite3* db, const Message& message) -> Outcome {
    if (message.event_id == "large") {
      if (++calls <= 2) execute(db, "PRAGMA max_page_count=1");
      if (calls > 2) execute(db, "PRAGMA max_page_count=1000000");
      CHECK(message.attempt == 1);
      execute(db, "INSERT INTO effects VALUES (NULL, zeroblob(100000), 0)");
    }
    return record(db, message);
  });
  consumer.drain({});
  CHECK(calls >= 3);
  CHECK(member.text("SELECT group_concat(event_id) FROM effects") == "one,large,two");
  CHECK(member.number("SELECT count(*) FROM inbox_parked") == 0);
}

TEST_CASE("a stop ends the run between two messages, and what was applied is kept") {
  const InboxMember member;
  publish(member.topic, {event("one"), event("two"), event("three")});
  Consumer consumer(member.options());
  const auto record = recording(consumer);
  RunUntil until;
  consumer.on(member.topic, [&](sqlite3* db, const Message& message) -> Outcome {
    if (message.event_id == "two") until.stop();
    return record(db, message);
  });
  until.run(consumer);
  CHECK(member.number("SELECT count(*) FROM effects") >= 2);
  CHECK(member.number("SELECT next_offset FROM inbox_offsets") == member.number("SELECT count(*) FROM effects"));
  CHECK(member.number("SELECT clean FROM inbox_offsets") == 1);
  consumer.drain({});
  CHECK(member.number("SELECT count(*) FROM effects") == 3);
}

TEST_CASE("an idle consumer hears of a stop while it waits for records") {
  const InboxMember member;
  publish(member.topic, {event("one")});
  auto options = member.options();
  options.kafka_commit_interval = 10ms;
  Consumer consumer(options);
  consumer.on(member.topic, recording(consumer));
  std::stop_source stop;
  std::chrono::steady_clock::time_point asked;
  std::thread other([&] {
    test::AppDatabase app(member.path);
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (app.number("SELECT count(*) FROM effects") < 1 && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(5ms);  // tidy: waits for a commit of another thread's connection
    }
    asked = std::chrono::steady_clock::now();
    stop.request_stop();
  });
  consumer.run(stop.get_token());
  const auto took = std::chrono::steady_clock::now() - asked;
  other.join();
  // Leaving the group is part of it; the limit is for machines under load.
  CHECK(took < 2s);
  CHECK(member.number("SELECT clean FROM inbox_offsets") == 1);
}

TEST_CASE("without Kafka a run waits, says so once, and ends when it is asked to") {
  const InboxMember member;
  auto options = member.options();
  options.kafka[0].second = "127.0.0.1:1";
  int said = 0;
  RunUntil until;
  options.log = [&](LogLevel, std::string_view text) {
    if (text.find("does not answer") == std::string_view::npos) return;
    ++said;
    until.stop();
  };
  Consumer consumer(options);
  consumer.on(member.topic, recording(consumer));
  until.run(consumer);
  CHECK(said == 1);
}
