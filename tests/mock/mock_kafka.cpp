#include "mock_kafka.hpp"

#include <algorithm>

#include <doctest/doctest.h>

namespace txbox::test {

kafka::MockCluster& mock_kafka() {
  static kafka::MockCluster cluster(1);
  return cluster;
}

std::string new_mock_topic(int partitions) {
  static int count = 0;
  const std::string topic = "topic-" + std::to_string(++count);
  mock_kafka().create_topic(topic, partitions);
  return topic;
}

kafka::ProducerOptions mock_options(kafka::Properties properties) {
  kafka::ProducerOptions options;
  options.properties = std::move(properties);
  options.properties.emplace_back("bootstrap.servers", mock_kafka().bootstrap_servers());
  return options;
}

std::vector<kafka::DeliveryReport> await_reports(kafka::Producer& producer, std::size_t count,
                                                 std::chrono::milliseconds timeout) {
  using SteadyClock = std::chrono::steady_clock;
  const SteadyClock::time_point end = SteadyClock::now() + timeout;
  std::vector<kafka::DeliveryReport> reports;
  while (reports.size() < count && SteadyClock::now() < end) {
    producer.poll(std::chrono::duration_cast<std::chrono::milliseconds>(end - SteadyClock::now()), reports);
  }
  REQUIRE(reports.size() == count);
  return reports;
}

}  // namespace txbox::test
