#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace txbox::kafka {

/// librdkafka's in-process mock cluster (rdkafka_mock.h) on loopback: the demo's and the quick tests' broker.
/// It checks no sequence numbers, so it proves nothing about a real broker. Other processes may connect.
class MockCluster {
 public:
  explicit MockCluster(int brokers = 1);
  MockCluster(const MockCluster&) = delete;
  MockCluster& operator=(const MockCluster&) = delete;
  ~MockCluster();
  [[nodiscard]] std::string bootstrap_servers() const;
  void create_topic(const std::string& topic, int partitions);
  /// The next `count` Produce requests are answered with this rd_kafka_resp_err_t.
  void fail_produce(int error, std::size_t count);
  /// The next `count` Produce requests to that broker are carried out and answered only after `ms`.
  void delay_produce(std::int32_t broker, int ms, std::size_t count);
  /// -1: the partition has no leader from now on.
  void set_leader(const std::string& topic, std::int32_t partition, std::int32_t broker);
  void set_broker_down(std::int32_t broker, bool down);
  void set_round_trip_ms(std::int32_t broker, int ms);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::kafka
