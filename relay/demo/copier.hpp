#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <txbox/kafka/producer.hpp>
#include <txbox/kafka/topic_reader.hpp>

namespace txbox::relay::demo {

/// A careless second producer: it sends events that it finds in the topic once or twice more, soon or late, key,
/// payload and headers as they are, the `id` among them. One thread. Throws Error(failure) when the broker refuses a
/// copy.
class Copier {
 public:
  Copier(const std::string& brokers, std::string topic, std::uint64_t seed);

  /// The id of the cluster that it sends to. Throws Error(broker_unavailable).
  [[nodiscard]] std::string cluster_id();
  /// Plans the copies of an event that appeared for the first time.
  void plan(const kafka::TopicRecord& record);
  /// Sends what is due and takes the broker's answers. Never waits.
  void work();
  /// Nothing is planned and every copy is acknowledged.
  [[nodiscard]] bool done() const noexcept { return planned_.empty() && in_flight_ == 0; }
  [[nodiscard]] std::int64_t sent() const noexcept { return sent_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Planned {
    Clock::time_point due;
    kafka::TopicRecord record;
    friend bool operator>(const Planned& a, const Planned& b) noexcept { return a.due > b.due; }
  };
  [[nodiscard]] bool send(const kafka::TopicRecord& record);
  void take_reports();

  std::string topic_;
  std::uint64_t seed_;
  kafka::Producer producer_;
  std::vector<Planned> planned_;  ///< A heap, the next one due on top.
  std::int64_t in_flight_ = 0;
  std::int64_t sent_ = 0;
};

}  // namespace txbox::relay::demo
