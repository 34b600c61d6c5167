// The rival of bench_relay_drain: nothing but librdkafka's idempotent producer, with the records and the properties of
// the relay. It reads no file and writes no receipt. `bench_bare_producer BROKERS TOPIC ROWS PAYLOAD_BYTES [RATE]`
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/bench/support/arguments.hpp"
#include "tests/bench/support/records.hpp"
#include "tests/bench/support/topic.hpp"

namespace {

using namespace txbox::bench;

struct Deliveries {
  std::int64_t done = 0;
  std::int64_t failed = 0;
};

void count_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
  Deliveries& deliveries = *static_cast<Deliveries*>(opaque);
  ++deliveries.done;
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) ++deliveries.failed;
}

void produce_one(rd_kafka_t* producer, const std::string& topic, std::int64_t i, std::int64_t payload_bytes) {
  const std::string key = key_of(i);
  const std::string payload = payload_of(i, payload_bytes);
  const std::string id = event_id_header(i);
  const std::string created_at = created_at_header();
  for (;;) {
    const rd_kafka_resp_err_t error = rd_kafka_producev(
        producer, RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_KEY(key.data(), key.size()),
        RD_KAFKA_V_VALUE(const_cast<char*>(payload.data()), payload.size()), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_HEADER("id", id.data(), static_cast<ssize_t>(id.size())),
        RD_KAFKA_V_HEADER("txbox-created-at", created_at.data(), static_cast<ssize_t>(created_at.size())),
        RD_KAFKA_V_END);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return;
    if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) throw std::runtime_error(rd_kafka_err2str(error));
    rd_kafka_poll(producer, 100);
  }
}

/// Without a rate (0) as fast as it goes.
void produce(const std::string& brokers, const std::string& topic, std::int64_t rows, std::int64_t payload_bytes,
             std::int64_t rate_per_second) {
  Deliveries deliveries;
  const Client producer = make_client(RD_KAFKA_PRODUCER, producer_properties(brokers), count_delivery, &deliveries);
  constexpr std::int64_t kRowsPerPoll = 1000;
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < rows; ++i) {
    if (rate_per_second > 0) {
      const auto due = start + std::chrono::nanoseconds(1'000'000'000 / rate_per_second) * i;
      std::this_thread::sleep_until(due);  // tidy: waits for the moment that the rate asks for
    }
    produce_one(producer.get(), topic, i, payload_bytes);
    if (i % kRowsPerPoll == 0) rd_kafka_poll(producer.get(), 0);
  }
  while (deliveries.done < rows) rd_kafka_poll(producer.get(), 100);
  if (deliveries.failed > 0) throw std::runtime_error(std::to_string(deliveries.failed) + " records failed");
}

}  // namespace

int main(int argc, char** argv) {
  return run("bench_bare_producer", [&] {
    if (argc != 5 && argc != 6)
      throw std::invalid_argument("usage: bench_bare_producer BROKERS TOPIC ROWS PAYLOAD_BYTES [RATE]");
    produce(argv[1], argv[2], std::stoll(argv[3]), std::stoll(argv[4]), argc == 6 ? std::stoll(argv[5]) : 0);
  });
}
