#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <txbox/kafka/consumer_event.hpp>

#include "handles.hpp"

namespace txbox::kafka {

/// Keeps the fetching going with a small queue. librdkafka before 2.2 stops to fetch when its queue is full, and looks
/// again after a second: whoever empties the queue sooner waits for the rest of it, and 20,000 records a second would
/// be the limit. A request to a broker makes its thread look at once, and asking where partitions end has no other
/// effect. So we ask each time that half a queue was consumed, while the queue is no longer full. Later versions have
/// fetch.queue.backoff.ms (consumer_configuration.cpp), and nothing happens here.
class FetchWaker {
 public:
  /// Reads the bounds of the queue. Before the client is made of the configuration.
  explicit FetchWaker(const rd_kafka_conf_t* configuration);

  /// One record of `place` was taken from the queue. `place` must live until clear().
  void consumed(const Place& place, std::size_t bytes) {
    ++records_;
    bytes_ += bytes;
    if (places_.empty() || places_.back() != &place) add(place);
  }
  [[nodiscard]] bool due() const noexcept { return needed_ && (records_ >= records_step_ || bytes_ >= bytes_step_); }
  /// Wakes the brokers of what was consumed. Waits for their answers a moment at most, as wake_for() does.
  void wake(rd_kafka_t* client, rd_kafka_queue_t* queue);
  /// A place that was resumed would wait for the same second, in every version.
  static void wake_for(rd_kafka_t* client, const Place& place);
  void clear() noexcept;

 private:
  void add(const Place& place);

  bool needed_ = true;
  std::size_t records_step_ = 0;
  std::size_t bytes_step_ = 0;
  std::size_t records_ = 0;  ///< Since the last time.
  std::size_t bytes_ = 0;
  std::vector<const Place*> places_;  ///< Of those records: their brokers are the ones to wake.
};

}  // namespace txbox::kafka
