#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <txbox/kafka/mock_cluster.hpp>
#include <txbox/kafka/producer.hpp>

namespace txbox::test {

/// The one mock cluster of this program: stopping one takes up to a second.
[[nodiscard]] kafka::MockCluster& mock_kafka();

/// A fresh topic of the mock cluster.
[[nodiscard]] std::string new_mock_topic(int partitions = 1);

[[nodiscard]] kafka::ProducerOptions mock_options(kafka::Properties properties = {});

/// Polls until `count` reports are there; fails the test when `timeout` passes before.
[[nodiscard]] std::vector<kafka::DeliveryReport> await_reports(
    kafka::Producer& producer, std::size_t count, std::chrono::milliseconds timeout = std::chrono::seconds(10));

}  // namespace txbox::test
