#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <txbox/base/bytes.hpp>
#include <txbox/base/headers.hpp>
#include <txbox/kafka/settings.hpp>

namespace txbox::kafka {

/// A record as Kafka holds it.
struct TopicRecord {
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  Bytes key;
  Bytes payload;
  Headers headers;
};

/// Reads a topic from its beginning, all its partitions, without joining a group or committing anything: a witness of
/// what Kafka holds. Aborted transactions are left out. One thread. Throws Error(broker_unavailable) when the broker
/// refuses or does not answer, Error(configuration) for a property that librdkafka refuses.
class TopicReader {
 public:
  /// Asks for the topic's partitions, for at most `timeout`; those that are added later are not read.
  TopicReader(const Properties& properties, std::string topic, std::chrono::milliseconds timeout);
  TopicReader(const TopicReader&) = delete;
  TopicReader& operator=(const TopicReader&) = delete;
  ~TopicReader();

  /// Appends what has come; waits for at most `timeout` when nothing has. The order is Kafka's within a partition.
  void poll(std::chrono::milliseconds timeout, std::vector<TopicRecord>& out);
  /// Reads up to the end that each partition has now. Throws when that takes longer than `timeout`.
  void read_to_end(std::chrono::milliseconds timeout, std::vector<TopicRecord>& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::kafka
