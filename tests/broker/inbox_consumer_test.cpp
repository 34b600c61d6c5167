#include <txbox/inbox/consumer.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <librdkafka/rdkafka.h>
#include <sqlite3.h>

#include <txbox/kafka/consumer.hpp>
#include <txbox/kafka/producer.hpp>

#include "support/app_database.hpp"
#include "support/kafka_admin.hpp"
#include "support/temp_dir.hpp"

using namespace std::chrono_literals;
using namespace txbox;
using inbox::Consumer;
using inbox::Message;
using inbox::Outcome;
using test::AppDatabase;
using test::KafkaAdmin;
using test::TempDir;
using test::unique_topic;

namespace {

std::string bootstrap_servers() {
  const char* servers = std::getenv("TXBOX_TEST_KAFKA");
  if (servers == nullptr || *servers == '\0') {
    FAIL("TXBOX_TEST_KAFKA names no broker: start one with scripts/kafka start, or run scripts/test");
  }
  return servers;
}

/// A fresh topic, a database file and a group of its own.
struct Member {
  explicit Member(int partitions) : path(dir.file("billing.db")), topic(unique_topic("inbox")), group(topic) {
    KafkaAdmin(bootstrap_servers()).create_topic(topic, partitions);
    AppDatabase(path).run("CREATE TABLE effects(event_id TEXT PRIMARY KEY)");
  }

  [[nodiscard]] inbox::ConsumerOptions options() const {
    return {.database = path,
            .group = group,
            .kafka = {{"bootstrap.servers", bootstrap_servers()}, {"session.timeout.ms", "6000"}},
            .batch_messages = 50,
            .log = [](LogLevel, std::string_view text) { MESSAGE(std::string(text)); }};
  }
  [[nodiscard]] std::int64_t number(const std::string& sql) const { return AppDatabase(path).number(sql); }

  TempDir dir;
  std::string path;
  std::string topic;
  std::string group;
};

/// Fails where an event is applied twice: its id is the key.
Outcome record(sqlite3* db, const Message& message) {
  const std::string sql = "INSERT INTO effects VALUES ('" + message.event_id + "')";
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    throw std::runtime_error(sqlite3_errmsg(db));
  return inbox::done;
}

/// Events from number `first` on, each as often as `copies` says, all copies of one in one partition.
void publish(const std::string& topic, int partitions, int count, int copies, int first = 0) {
  kafka::ProducerOptions options;
  options.properties = {{"bootstrap.servers", bootstrap_servers()}};
  kafka::Producer producer(options);
  producer.add_topic(topic);
  std::vector<kafka::DeliveryReport> reports;
  for (int round = 0; round < copies; ++round) {
    for (int i = first; i < first + count; ++i) {
      const std::string id = "e" + std::to_string(i);
      const std::array headers{kafka::HeaderView{"id", BytesView(id)}};
      REQUIRE(producer.produce(topic, i % partitions, BytesView(id), BytesView(id), headers, 0) == 0);
    }
  }
  while (reports.size() < static_cast<std::size_t>(count) * static_cast<std::size_t>(copies))
    producer.poll(1s, reports);
}

struct DestroyClient {
  void operator()(rd_kafka_t* client) const noexcept { rd_kafka_destroy(client); }
};

/// Two events in a transaction that is committed, one in a transaction that is not: both leave control records.
void publish_in_transactions(const std::string& topic) {
  std::array<char, 512> text{};
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  for (const auto& [name, value] : {std::pair<const char*, std::string>{"bootstrap.servers", bootstrap_servers()},
                                    std::pair<const char*, std::string>{"transactional.id", topic}}) {
    REQUIRE(rd_kafka_conf_set(conf, name, value.c_str(), text.data(), text.size()) == RD_KAFKA_CONF_OK);
  }
  const std::unique_ptr<rd_kafka_t, DestroyClient> producer(
      rd_kafka_new(RD_KAFKA_PRODUCER, conf, text.data(), text.size()));
  REQUIRE(producer != nullptr);
  const auto produce = [&](const char* id) {
    rd_kafka_headers_t* headers = rd_kafka_headers_new(1);
    rd_kafka_header_add(headers, "id", -1, id, -1);
    REQUIRE(rd_kafka_producev(producer.get(), RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(0),
                              RD_KAFKA_V_VALUE(const_cast<char*>(id), 2), RD_KAFKA_V_HEADERS(headers),
                              RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR_NO_ERROR);
  };
  REQUIRE(rd_kafka_init_transactions(producer.get(), 30'000) == nullptr);
  REQUIRE(rd_kafka_begin_transaction(producer.get()) == nullptr);
  produce("t1");
  produce("t2");
  REQUIRE(rd_kafka_commit_transaction(producer.get(), 30'000) == nullptr);
  REQUIRE(rd_kafka_begin_transaction(producer.get()) == nullptr);
  produce("t3");
  REQUIRE(rd_kafka_flush(producer.get(), 30'000) == RD_KAFKA_RESP_ERR_NO_ERROR);
  REQUIRE(rd_kafka_abort_transaction(producer.get(), 30'000) == nullptr);
}

}  // namespace

TEST_CASE("a consumer that is stopped and started goes on, copies change nothing, and Kafka knows who read") {
  constexpr int kEvents = 2000;
  const Member member(3);
  publish(member.topic, 3, kEvents, 2);
  {
    Consumer consumer(member.options());
    std::stop_source stop;
    int calls = 0;
    consumer.on(member.topic, [&](sqlite3* db, const Message& message) {
      if (++calls == 700) stop.request_stop();
      return record(db, message);
    });
    consumer.run(stop.get_token());
  }
  const std::int64_t first_life = member.number("SELECT count(*) FROM effects");
  CHECK(first_life >= 700);
  CHECK(first_life < kEvents);
  CHECK(member.number("SELECT sum(clean) FROM inbox_offsets") == 3);

  Consumer consumer(member.options());
  consumer.on(member.topic, record);
  consumer.drain({});
  CHECK(member.number("SELECT count(*) FROM effects") == kEvents);
  CHECK(consumer.counts().applied == kEvents - first_life);
  CHECK(member.number("SELECT sum(next_offset) FROM inbox_offsets") == 2 * kEvents);
  CHECK(member.number("SELECT count(*) FROM inbox") == kEvents);

  kafka::Consumer reader({.group = member.group, .properties = member.options().kafka, .log = {}});
  const std::vector<kafka::Place> places{{member.topic, 0}, {member.topic, 1}, {member.topic, 2}};
  std::int64_t committed = 0;
  for (const kafka::CommittedOffset& offset : reader.committed(places, 10s)) {
    committed += offset.offset;
    CHECK(offset.metadata.starts_with("txbox1:"));
  }
  CHECK(committed == 2 * kEvents);
}

TEST_CASE("two consumers on one file share the partitions, and each event is applied by one of them") {
  constexpr int kEvents = 400;  // A round.
  const Member member(4);
  std::atomic<int> applied = 0;
  std::array<std::atomic<int>, 2> by{};
  std::stop_source stop;
  const auto consume = [&](std::size_t which) {
    Consumer consumer(member.options());
    consumer.on(member.topic, [&, which](sqlite3* db, const Message& message) {
      Outcome outcome = record(db, message);
      ++by[which];
      return outcome;
    });
    consumer.run(stop.get_token());
    applied += static_cast<int>(consumer.counts().applied);
  };
  std::thread one(consume, 0);
  std::thread two(consume, 1);
  const auto end = std::chrono::steady_clock::now() + 60s;
  int published = 0;
  AppDatabase app(member.path);
  // Until the group has let both of them in; rebalances come between and into the rounds.
  while ((by[0] == 0 || by[1] == 0) && std::chrono::steady_clock::now() < end) {
    publish(member.topic, 4, kEvents, 1, published);
    published += kEvents;
    while (app.number("SELECT count(*) FROM effects") < published && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(5ms);  // tidy: waits for commits of another thread's connection
    }
  }
  stop.request_stop();
  one.join();
  two.join();
  CHECK(member.number("SELECT count(*) FROM effects") == published);
  CHECK(applied == published);
  CHECK(by[0] > 0);
  CHECK(by[1] > 0);
  CHECK(member.number("SELECT sum(next_offset) FROM inbox_offsets") == published);
}

TEST_CASE("a drain ends behind the control records of transactions, and an aborted event is never seen") {
  const Member member(1);
  publish_in_transactions(member.topic);
  for (int life = 0; life < 2; ++life) {
    Consumer consumer(member.options());
    consumer.on(member.topic, record);
    consumer.drain({});
    CHECK(member.number("SELECT count(*) FROM effects") == 2);
    CHECK(member.number("SELECT next_offset FROM inbox_offsets") == 5);
  }
}

TEST_CASE("a topic that is missing is waited for, and said by its name") {
  const Member member(1);
  const std::string missing = unique_topic("missing");
  publish(member.topic, 1, 1, 1);
  std::stop_source stop;
  int said = 0;
  int applied = 0;
  auto options = member.options();
  const auto look = [&] {
    if (said > 0 && applied > 0) stop.request_stop();
  };
  options.log = [&](LogLevel level, std::string_view text) {
    if (level != LogLevel::warning || text.find("'" + missing + "'") == std::string_view::npos) return;
    ++said;
    look();
  };
  Consumer consumer(options);
  consumer.on(missing, record);
  consumer.on(member.topic, [&](sqlite3* db, const Message& message) {
    ++applied;
    look();
    return record(db, message);
  });
  consumer.run(stop.get_token());
  CHECK(said == 1);
  CHECK(member.number("SELECT count(*) FROM effects") == 1);
}
