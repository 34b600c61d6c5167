#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include <txbox/kafka/topic_reader.hpp>

#include "relay/demo/ledger.hpp"

namespace txbox::relay::demo {

/// The witness: reads the topic from its beginning while the story goes on. One thread. Throws what its reader throws.
class TopicWatch {
 public:
  /// The header that marks what the copier sent, so that the witness can tell it from what a relay sent again.
  static constexpr const char* kCopyHeader = "copied";

  TopicWatch(const std::string& brokers, const std::string& topic, int partitions);

  struct Seen {
    const kafka::TopicRecord& record;
    bool first = false;  ///< The first record with its event id.
    bool copied = false;
  };
  using Look = std::function<void(const Seen&)>;
  /// Shows what has come; waits for at most `timeout` when nothing has.
  void poll(std::chrono::milliseconds timeout, const Look& look);
  /// Reads up to the end that the topic has now.
  void read_to_end(std::chrono::milliseconds timeout);

  [[nodiscard]] std::int64_t published() const noexcept { return static_cast<std::int64_t>(ids_.size()); }
  [[nodiscard]] const std::vector<PublishedEvent>& events() const noexcept { return events_; }
  /// For each partition the offset of the next record.
  [[nodiscard]] const std::vector<std::int64_t>& ends() const noexcept { return ends_; }

 private:
  void take(const kafka::TopicRecord& record, const Look& look);

  kafka::TopicReader reader_;
  std::vector<PublishedEvent> events_;
  std::unordered_set<std::string> ids_;
  std::vector<std::int64_t> ends_;
};

}  // namespace txbox::relay::demo
