#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <txbox/inbox/consumer.hpp>

#include "support/app_database.hpp"
#include "support/temp_dir.hpp"

namespace txbox::test {

struct Published {
  std::string payload;
  Headers headers;
  std::int32_t partition = 0;
  Bytes key = "k";
};
/// As an application would have written it: the event id in the header.
[[nodiscard]] Published event(const std::string& event_id, const std::string& payload = "p",
                              std::int32_t partition = 0);
void publish(const std::string& topic, const std::vector<Published>& records);

/// A database file, a fresh topic and a group of its own on the mock cluster.
struct InboxMember {
  explicit InboxMember(int partitions = 1);

  /// With a session short enough for the mock cluster (it delays each rebalance by that long) and quick retries.
  [[nodiscard]] inbox::ConsumerOptions options() const;

  /// A new connection of the application's own: the consumer makes the file.
  [[nodiscard]] std::int64_t number(const std::string& sql) const { return AppDatabase(path).number(sql); }
  [[nodiscard]] std::string text(const std::string& sql) const { return AppDatabase(path).text(sql).value_or("null"); }

  TempDir dir;
  std::string path;
  std::string topic;
  std::string group;
};

/// Inserts (event id, payload) into table effects, which it makes.
[[nodiscard]] inbox::Handler recording(inbox::Consumer& consumer);
/// Runs SQL on the handler's connection; throws std::runtime_error.
void execute(sqlite3* db, const std::string& sql);

/// Runs the consumer on this thread until a handler or a log sink calls stop(). Fails the test after `limit`.
class RunUntil {
 public:
  void run(inbox::Consumer& consumer, std::chrono::seconds limit = std::chrono::seconds(30));
  void stop() { source_.request_stop(); }

 private:
  std::stop_source source_;
};

}  // namespace txbox::test
