#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <txbox/base/bytes.hpp>
#include <txbox/base/headers.hpp>

namespace txbox::test {

/// A record as a foreign consumer sees it, byte for byte: null, empty and absent kept apart.
struct ReadRecord {
  std::int32_t partition = -1;
  std::int64_t offset = -1;
  std::int64_t timestamp_ms = -1;
  Bytes key;
  Bytes payload;
  Headers headers;
};

/// What the tests believe: a plain consumer that reads whole topics from their beginning. It assigns partitions by
/// itself, belongs to no group and commits nothing. Throws std::runtime_error when Kafka does not answer in time.
/// Needs no txbox code beyond libbase. One thread.
class KafkaReader {
 public:
  explicit KafkaReader(const std::string& bootstrap_servers);
  KafkaReader(const KafkaReader&) = delete;
  KafkaReader& operator=(const KafkaReader&) = delete;
  ~KafkaReader();

  /// Every record there is now; in order within a partition.
  [[nodiscard]] std::vector<ReadRecord> read_all(const std::string& topic,
                                                 std::chrono::milliseconds timeout = std::chrono::seconds(10));
  /// Waits until the topic holds `count` records and returns them; fewer only when the time is over.
  [[nodiscard]] std::vector<ReadRecord> await(const std::string& topic, std::size_t count,
                                              std::chrono::milliseconds timeout = std::chrono::seconds(10));
  /// 0 when the topic does not exist. Never creates one on a real Kafka (the mock cluster does, whatever is asked).
  [[nodiscard]] std::int32_t partitions(const std::string& topic,
                                        std::chrono::milliseconds timeout = std::chrono::seconds(10));

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::test
