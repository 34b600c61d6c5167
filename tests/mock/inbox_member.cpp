#include "inbox_member.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <txbox/kafka/producer.hpp>

#include "mock_kafka.hpp"

namespace txbox::test {

Published event(const std::string& event_id, const std::string& payload, std::int32_t partition) {
  return {.payload = payload, .headers = {{"id", event_id}}, .partition = partition};
}

void publish(const std::string& topic, const std::vector<Published>& records) {
  kafka::Producer producer(mock_options());
  producer.add_topic(topic);
  for (std::size_t at = 0; at < records.size(); ++at) {
    std::vector<kafka::HeaderView> headers;
    for (const Header& header : records[at].headers) headers.push_back({header.name, header.value});
    REQUIRE(producer.produce(topic, records[at].partition, records[at].key, BytesView(records[at].payload), headers,
                             at) == 0);
  }
  static_cast<void>(await_reports(producer, records.size()));
}

InboxMember::InboxMember(int partitions) : path(dir.file("billing.db")), topic(new_mock_topic(partitions)) {
  static int count = 0;
  group = "group-" + std::to_string(++count);
}

inbox::ConsumerOptions InboxMember::options() const {
  inbox::ConsumerOptions options;
  options.database = path;
  options.group = group;
  options.kafka = {{"bootstrap.servers", mock_kafka().bootstrap_servers()},
                   {"session.timeout.ms", "4000"},
                   {"heartbeat.interval.ms", "300"},
                   {"fetch.wait.max.ms", "20"}};
  options.retry_delay = std::chrono::milliseconds(5);
  options.retry_delay_max = std::chrono::milliseconds(20);
  options.log = [](LogLevel, std::string_view text) { MESSAGE(std::string(text)); };
  return options;
}

void execute(sqlite3* db, const std::string& sql) {
  char* text = nullptr;
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &text) == SQLITE_OK) return;
  const std::string error = text == nullptr ? sqlite3_errmsg(db) : text;
  sqlite3_free(text);
  throw std::runtime_error(error);
}

inbox::Handler recording(inbox::Consumer& consumer) {
  execute(consumer.database(), "CREATE TABLE IF NOT EXISTS effects(event_id TEXT, payload TEXT, attempt INTEGER)");
  return [](sqlite3* db, const inbox::Message& message) {
    execute(db, "INSERT INTO effects VALUES ('" + message.event_id + "', '" + std::string(message.payload.view()) +
                    "', " + std::to_string(message.attempt) + ")");
    return inbox::done;
  };
}

void RunUntil::run(inbox::Consumer& consumer, std::chrono::seconds limit) {
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  bool late = false;
  std::thread watch([&] {
    std::unique_lock lock(mutex);
    late = !changed.wait_for(lock, limit, [&] { return ended; });
    if (late) source_.request_stop();
  });
  const auto end_watch = [&] {
    {
      const std::lock_guard lock(mutex);
      ended = true;
    }
    changed.notify_one();
    watch.join();
  };
  try {
    consumer.run(source_.get_token());
  } catch (...) {
    end_watch();
    throw;
  }
  end_watch();
  CHECK_FALSE(late);
}

}  // namespace txbox::test
