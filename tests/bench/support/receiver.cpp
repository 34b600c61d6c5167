#include "tests/bench/support/receiver.hpp"

#include <memory>

#include <txbox/base/error.hpp>

#include "tests/bench/support/records.hpp"

namespace txbox::bench {
namespace {

constexpr int kTimeoutMs = 20'000;

struct DestroyList {
  void operator()(rd_kafka_topic_partition_list_t* list) const noexcept { rd_kafka_topic_partition_list_destroy(list); }
};

void check(rd_kafka_resp_err_t error, const char* what) {
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw Error(ErrorCode::broker_unavailable, std::string(what) + ": " + rd_kafka_err2str(error));
  }
}

void assign_from_end(rd_kafka_t* consumer, const std::string& topic) {
  std::unique_ptr<rd_kafka_topic_partition_list_t, DestroyList> list(
      rd_kafka_topic_partition_list_new(Topic::kPartitions));
  for (std::int32_t partition = 0; partition < Topic::kPartitions; ++partition) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    check(rd_kafka_query_watermark_offsets(consumer, topic.c_str(), partition, &low, &high, kTimeoutMs),
          "asking for the end");
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset = high;
  }
  check(rd_kafka_assign(consumer, list.get()), "assigning partitions");
}

}  // namespace

Receiver::Receiver(const std::string& brokers, const Topic& topic, std::int64_t records)
    : consumer_(make_client(RD_KAFKA_CONSUMER, {{"bootstrap.servers", brokers},
                                                {"group.id", "txbox-bench"},
                                                {"enable.auto.commit", "false"},
                                                {"socket.nagle.disable", "true"}})),
      arrivals_(static_cast<std::size_t>(records)) {
  rd_kafka_poll_set_consumer(consumer_.get());
  assign_from_end(consumer_.get(), topic.name());
  thread_ = std::thread([this] { receive(); });
}

Receiver::~Receiver() {
  stopping_ = true;
  thread_.join();
  rd_kafka_consumer_close(consumer_.get());
}

void Receiver::receive() {
  while (!stopping_) {
    const Message message(rd_kafka_consumer_poll(consumer_.get(), 100));
    // Errors of the connection heal by themselves; records that never come are what wait_for() notices.
    if (!message || message->err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    const Time now = std::chrono::steady_clock::now();
    const std::int64_t number = number_in(message->payload, message->len);
    if (number < 0 || number >= static_cast<std::int64_t>(arrivals_.size())) continue;
    Time& arrival = arrivals_[static_cast<std::size_t>(number)];
    if (arrival != Time()) continue;
    arrival = now;
    {
      const std::lock_guard lock(mutex_);
      ++received_;
    }
    changed_.notify_one();
  }
}

void Receiver::wait_for(std::int64_t records) {
  std::unique_lock lock(mutex_);
  const bool came =
      changed_.wait_for(lock, std::chrono::milliseconds(kTimeoutMs), [&] { return received_ >= records; });
  if (!came) {
    throw Error(ErrorCode::broker_unavailable,
                "only " + std::to_string(received_) + " of " + std::to_string(records) + " records came in time");
  }
}

}  // namespace txbox::bench
