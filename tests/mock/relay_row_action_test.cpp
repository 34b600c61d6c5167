#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>

#include <doctest/doctest.h>

#include "mock_kafka.hpp"
#include "relay_process.hpp"
#include "support/kafka_reader.hpp"

namespace txbox::test {

namespace {

constexpr int kMessageSizeTooLarge = 10;
/// How soon a running relay acts on what a person did.
constexpr std::int64_t kSoonMs = 1'000;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string text_of(const ReadRecord& record) { return std::string(record.payload.view()); }

bool is_redriven(const ReadRecord& record) {
  const auto* header = record.headers.last("txbox-redriven");
  return header != nullptr && header->value == Bytes("retry");
}

std::string event_id(Shop& shop, int id) {
  return shop.app.text("SELECT event_id FROM outbox_status WHERE id = " + std::to_string(id)).value();
}

CommandResult person(const Shop& shop, const std::string& command, std::vector<std::string> more) {
  more.insert(more.begin(), {command, "--db", shop.path});
  return relay(shop.folder, more);
}

/// A key whose first row Kafka refused, with two rows behind it, and no relay.
struct PoisonedShop : Shop {
  explicit PoisonedShop(const std::string& topic) {
    add(topic, "poisoned", "refused");
    // Once in a batch of the main producer and once alone, which makes it the culprit.
    mock_kafka().fail_produce(kMessageSizeTooLarge, 2);
    REQUIRE(drain().code == 3);
    add(topic, "poisoned", "second");
    add(topic, "poisoned", "third");
    REQUIRE(drain().code == 3);
    REQUIRE(count_in_state("parked") == 1);
    REQUIRE(count_in_state("blocked") == 2);
  }
};

/// Runs the relay until it has published one row of another key, so that it is idle from then on.
void await_idle(Shop& shop, KafkaReader& reader, const std::string& topic) {
  shop.add(topic, "healthy", "flows");
  REQUIRE(reader.await(topic, 1).size() == 1);
}

void stop(RelayProcess& process) {
  process.signal(SIGTERM);
  CHECK(process.wait() == 0);
}

/// A terminal on which `typed` was typed already.
class Terminal {
 public:
  explicit Terminal(const std::string& typed) : person_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    REQUIRE(person_ >= 0);
    REQUIRE(grantpt(person_) == 0);
    REQUIRE(unlockpt(person_) == 0);
    program_ = open(ptsname(person_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(program_ >= 0);
    REQUIRE(write(person_, typed.data(), typed.size()) == static_cast<ssize_t>(typed.size()));
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    close(program_);
    close(person_);
  }
  [[nodiscard]] int input() const noexcept { return program_; }

 private:
  int person_;
  int program_ = -1;
};

}  // namespace

TEST_CASE("a retried row is published with its mark, and its key follows in order, while the relay runs") {
  const std::string topic = new_mock_topic();
  PoisonedShop shop(topic);
  KafkaReader reader(mock_kafka().bootstrap_servers());
  RelayProcess process(shop.folder, shop.run_arguments());
  await_idle(shop, reader, topic);
  const std::string event = event_id(shop, 1);
  const CommandResult result = person(shop, "retry", {event, "--reason", "the limit was raised"});
  CHECK(result.code == 0);
  CHECK(result.output == "event " + event + " retried\n");
  CHECK(result.log.empty());
  const std::vector<ReadRecord> records = reader.await(topic, 4);
  REQUIRE(records.size() == 4);
  CHECK(text_of(records[1]) == "refused");
  CHECK(text_of(records[2]) == "second");
  CHECK(text_of(records[3]) == "third");
  CHECK(is_redriven(records[1]));
  CHECK_FALSE(is_redriven(records[2]));
  CHECK(records[1].headers.last("id")->value == Bytes(event));
  CHECK(records[3].timestamp_ms - shop.app.number("SELECT at FROM txbox_audit") < kSoonMs);
  CHECK(shop.app.text("SELECT action || ' ' || event_id || ' ' || detail FROM txbox_audit") ==
        "retry " + event + " was parked; the limit was raised");
  CHECK(shop.app.number("SELECT length(who) FROM txbox_audit") > 0);
  stop(process);
  CHECK(shop.count_in_state("sent") == 4);
}

TEST_CASE("a skipped row frees its key at once, while the relay runs, and is never published") {
  const std::string topic = new_mock_topic();
  PoisonedShop shop(topic);
  KafkaReader reader(mock_kafka().bootstrap_servers());
  RelayProcess process(shop.folder, shop.run_arguments());
  await_idle(shop, reader, topic);
  CHECK(person(shop, "skip", {event_id(shop, 1)}).code == 0);
  const std::vector<ReadRecord> records = reader.await(topic, 3);
  REQUIRE(records.size() == 3);
  CHECK(text_of(records[1]) == "second");
  CHECK(text_of(records[2]) == "third");
  CHECK(records[2].timestamp_ms - shop.app.number("SELECT at FROM txbox_audit") < kSoonMs);
  stop(process);
  CHECK(shop.count_in_state("skipped") == 1);
  CHECK(reader.read_all(topic).size() == 3);
}

TEST_CASE("a retried row that is refused again under --on-refusal skip lets its key go") {
  const std::string topic = new_mock_topic();
  PoisonedShop shop(topic);
  REQUIRE(person(shop, "retry", {event_id(shop, 1)}).code == 0);
  mock_kafka().fail_produce(kMessageSizeTooLarge, 2);
  CHECK(shop.drain({"--on-refusal", "skip"}).code == 3);
  CHECK(shop.count_in_state("parked") == 1);
  CHECK(shop.count_in_state("sent") == 2);
  const std::vector<ReadRecord> records = KafkaReader(mock_kafka().bootstrap_servers()).read_all(topic);
  REQUIRE(records.size() == 2);
  CHECK(text_of(records[0]) == "second");
  CHECK(text_of(records[1]) == "third");
}

TEST_CASE("with --on-refusal skip a key goes on without its refused row, and a person can still send that") {
  const std::string topic = new_mock_topic();
  Shop shop;
  shop.add(topic, "poisoned", "refused");
  shop.add(topic, "poisoned", "second");
  // The batch of both at the main producer, and the first row alone.
  mock_kafka().fail_produce(kMessageSizeTooLarge, 2);
  RelayProcess process(shop.folder, shop.run_arguments({"--on-refusal", "skip"}));
  KafkaReader reader(mock_kafka().bootstrap_servers());
  REQUIRE(reader.await(topic, 1).size() == 1);
  shop.add(topic, "poisoned", "third");
  REQUIRE(reader.await(topic, 2).size() == 2);
  // Kafka has the others before the file says so of this one.
  while (shop.count_in_state("parked") == 0) REQUIRE(process.wait(std::chrono::milliseconds(20)) == -1);
  CHECK(shop.count_in_state("blocked") == 0);
  CHECK(shop.app.text("SELECT last_error FROM outbox_status WHERE id = 1").value().starts_with("MSG_SIZE_TOO_LARGE"));
  CHECK(person(shop, "retry", {event_id(shop, 1)}).code == 0);
  const std::vector<ReadRecord> records = reader.await(topic, 3);
  REQUIRE(records.size() == 3);
  CHECK(text_of(records[0]) == "second");
  CHECK(text_of(records[1]) == "third");
  CHECK(text_of(records[2]) == "refused");
  CHECK(is_redriven(records[2]));
  CHECK_FALSE(is_redriven(records[1]));
  stop(process);
  CHECK(shop.count_in_state("sent") == 3);
}

TEST_CASE("a key that was blocked waits on when refused rows are skipped from now on") {
  const std::string topic = new_mock_topic();
  PoisonedShop shop(topic);
  shop.add(topic, "poisoned", "fourth");
  CHECK(relay(shop.folder, shop.run_arguments({"--drain", "--on-refusal", "skip"})).code == 3);
  CHECK(shop.count_in_state("blocked") == 3);
  CHECK(relay(shop.folder, shop.run_arguments({"--drain", "--on-refusal", "sometimes"})).code == 2);
}

TEST_CASE("what a person decides while no relay runs holds for the next one") {
  const std::string topic = new_mock_topic();
  PoisonedShop shop(topic);
  CHECK(person(shop, "skip", {event_id(shop, 1)}).code == 0);
  CHECK(shop.drain().code == 0);
  // Given up for good, until a person says otherwise: it comes alone then, since its key has gone on.
  CHECK(person(shop, "retry", {event_id(shop, 1)}).code == 0);
  CHECK(shop.drain().code == 0);
  const std::vector<ReadRecord> records = KafkaReader(mock_kafka().bootstrap_servers()).read_all(topic);
  REQUIRE(records.size() == 3);
  CHECK(text_of(records[0]) == "second");
  CHECK(text_of(records[1]) == "third");
  CHECK(text_of(records[2]) == "refused");
  CHECK(is_redriven(records[2]));
}

TEST_CASE("a row parked by hand holds its key and no other") {
  Shop shop;
  const std::string topic = new_mock_topic();
  shop.add(topic, "a", "1");
  shop.add(topic, "a", "2");
  CHECK(person(shop, "park", {event_id(shop, 1)}).code == 0);
  KafkaReader reader(mock_kafka().bootstrap_servers());
  RelayProcess process(shop.folder, shop.run_arguments());
  await_idle(shop, reader, topic);
  CHECK(shop.count_in_state("parked") == 1);
  CHECK(person(shop, "retry", {"--key", "a", "--yes"}).code == 0);
  const std::vector<ReadRecord> records = reader.await(topic, 3);
  REQUIRE(records.size() == 3);
  CHECK(text_of(records[0]) == "flows");
  CHECK(text_of(records[1]) == "1");
  CHECK(text_of(records[2]) == "2");
  stop(process);
}

TEST_CASE("an event that cannot be changed is answered with the reason, beside those that can") {
  Shop shop;
  const std::string topic = new_mock_topic();
  shop.add(topic, "a", "sent");
  CHECK(shop.drain().code == 0);
  shop.add(topic, "a", "secret payload");
  const std::string sent = event_id(shop, 1);
  const std::string ready = event_id(shop, 2);
  for (const char* command : {"park", "retry", "skip"}) {
    CAPTURE(command);
    const CommandResult late = person(shop, command, {sent});
    CHECK(late.code == 3);
    CHECK(late.output.empty());
    CHECK(contains(late.log, "was already sent"));
    const CommandResult unknown = person(shop, command, {"no-such"});
    CHECK(unknown.code == 1);
    CHECK(contains(unknown.log, "no event no-such in " + shop.path));
  }
  const CommandResult mixed = person(shop, "park", {"--json", "no-such", ready, sent, ready});
  CHECK(mixed.code == 1);
  CHECK(mixed.output == R"({"event_id":"no-such","id":null,"action":"park","dry_run":false,"outcome":"not_found"})"
                        "\n"
                        R"({"event_id":")" +
                            ready +
                            R"(","id":2,"action":"park","dry_run":false,"outcome":"done"})"
                            "\n"
                            R"({"event_id":")" +
                            sent +
                            R"(","id":1,"action":"park","dry_run":false,"outcome":"already_sent"})"
                            "\n");
  CHECK(person(shop, "park", {ready}).code == 3);
  CHECK(person(shop, "skip", {ready}).code == 0);
  CHECK(contains(person(shop, "park", {ready}).log, "retry it first"));
  CHECK(shop.app.text("SELECT group_concat(action || ' ' || detail, ' | ') FROM txbox_audit") ==
        "park was not held | skip was parked");
}

TEST_CASE("a dry run shows what would change and changes nothing") {
  Shop shop;
  shop.add_many("orders", 5, 1);
  const CommandResult named = person(shop, "park", {"--dry-run", event_id(shop, 1)});
  CHECK(named.code == 0);
  CHECK(named.output == "event " + event_id(shop, 1) + " would be parked\n");
  CHECK(person(shop, "retry", {"--dry-run", event_id(shop, 1)}).code == 3);
  const CommandResult chosen = person(shop, "park", {"--dry-run", "--topic", "orders", "--json"});
  CHECK(chosen.code == 0);
  CHECK(std::count(chosen.output.begin(), chosen.output.end(), '\n') == 5);
  CHECK(chosen.output.starts_with(R"({"id":1,"event_id":)"));
  CHECK(contains(chosen.log, "5 rows would be parked"));
  CHECK(shop.count_in_state("ready") == 5);
  CHECK(shop.app.number("SELECT count(*) FROM txbox_audit") == 0);
}

TEST_CASE("a choice by filter asks a person, and where there is none it takes --yes") {
  Shop shop;
  shop.add_many("orders", 3, 3);
  const CommandResult refused = person(shop, "park", {"--all"});
  CHECK(refused.code == 2);
  CHECK(contains(refused.log, "--yes"));
  CHECK(person(shop, "park", {}).code == 2);
  CHECK(person(shop, "park", {"some-id", "--all", "--yes"}).code == 2);
  CHECK(person(shop, "skip", {"--state", "sent", "--yes"}).code == 2);
  const auto answering = [&](const std::string& typed) {
    const Terminal terminal(typed);
    RelayProcess process(shop.folder, {"park", "--db", shop.path, "--all"}, {}, terminal.input());
    const int code = process.wait();
    CHECK(contains(process.log(), "park 3 rows of " + shop.path + "? [y/N]"));
    return code;
  };
  CHECK(answering("n\n") == 3);
  CHECK(shop.count_in_state("ready") == 3);
  CHECK(answering("y\n") == 0);
  CHECK(shop.count_in_state("parked") == 3);
  const CommandResult nothing = person(shop, "park", {"--all", "--yes"});
  CHECK(nothing.code == 3);
  CHECK(contains(nothing.log, "nothing to park"));
}

TEST_CASE("thousands of rows are changed by one choice, and each key follows in order") {
  Shop shop;
  const std::string topic = new_mock_topic();
  shop.add_many(topic, 5'000, 10);
  shop.add("elsewhere", "key-0", "stays");
  const CommandResult parked = person(shop, "park", {"--topic", topic, "--yes"});
  CHECK(parked.code == 0);
  CHECK(parked.output == shop.path + ": 5000 rows parked\n");
  CHECK(shop.app.number("SELECT count(*) FROM txbox_audit") == 5'000);
  CHECK(person(shop, "skip", {"--key", "key-3", "--yes"}).output == shop.path + ": 500 rows skipped\n");
  KafkaReader reader(mock_kafka().bootstrap_servers());
  RelayProcess process(shop.folder, shop.run_arguments());
  const CommandResult retried = person(shop, "retry", {"--topic", topic, "--yes", "--json"});
  CHECK(retried.output == R"({"action":"retry","chosen":4500,"changed":4500,"already_sent":0,"left":0})"
                          "\n");
  const std::vector<ReadRecord> records = reader.await(topic, 4'500);
  REQUIRE(records.size() == 4'500);
  std::map<std::string, int> next;
  for (const ReadRecord& record : records)
    CHECK(text_of(record) == std::to_string(next[std::string(record.key.view())]++));
  CHECK(next.size() == 9);
  CHECK(next.count("key-3") == 0);
  stop(process);
}

TEST_CASE("a locked file is tried later, and one without tables is a matter of init") {
  Shop shop;
  shop.add("orders", "a", "1");
  const std::string event = event_id(shop, 1);
  shop.app.run("BEGIN IMMEDIATE");
  for (const char* command : {"park", "skip"}) {
    CAPTURE(command);
    CHECK(person(shop, command, {event}).code == 75);
  }
  shop.app.run("ROLLBACK");
  CHECK(shop.count_in_state("ready") == 1);
  const std::string bare = shop.folder.file("bare.db");
  AppDatabase(bare).run("CREATE TABLE orders(id INTEGER PRIMARY KEY)");
  for (const char* command : {"park", "retry", "skip"}) {
    CAPTURE(command);
    const CommandResult result = relay(shop.folder, {command, "--db", bare, "--all", "--yes"});
    CHECK(result.code == 78);
    CHECK(contains(result.log, "outbox-relay init"));
    CHECK(relay(shop.folder, {command, "--db", shop.folder.file("none.db"), "some-id"}).code == 20);
  }
}

}  // namespace txbox::test
