#include <txbox/kafka/mock_cluster.hpp>

#include <array>
#include <string_view>
#include <vector>

#include <txbox/base/error.hpp>
#include <txbox/kafka/errors.hpp>

#include "handles.hpp"
#include "property_rules.hpp"

namespace txbox::kafka {
namespace {

/// Of the Kafka protocol; librdkafka's public headers do not name it.
constexpr std::int16_t kProduceRequest = 0;

void require(rd_kafka_resp_err_t error, std::string_view what) {
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return;
  throw Error(ErrorCode::failure, "mock cluster: cannot " + std::string(what) + ": " + describe(error));
}

ClientHandle make_host() {
  ConfigurationHandle configuration(rd_kafka_conf_new());
  // The brokers take their socket options from the hosting client: with Nagle's algorithm each answer waits 40 ms.
  set_property(configuration.get(), "socket.nagle.disable", "true");
  // The host itself talks to nobody, and would say so.
  rd_kafka_conf_set_log_cb(configuration.get(), nullptr);
  std::array<char, 256> reason{};
  ClientHandle host(rd_kafka_new(RD_KAFKA_PRODUCER, configuration.get(), reason.data(), reason.size()));
  if (!host) throw Error(ErrorCode::failure, std::string("mock cluster: ") + reason.data());
  static_cast<void>(configuration.release());
  return host;
}

}  // namespace

struct MockCluster::State {
  int brokers = 0;
  ClientHandle host;
  MockClusterHandle cluster;
};

MockCluster::MockCluster(int brokers) : state_(std::make_unique<State>()) {
  state_->brokers = brokers;
  state_->host = make_host();
  state_->cluster.reset(rd_kafka_mock_cluster_new(state_->host.get(), brokers));
  if (!state_->cluster) throw Error(ErrorCode::failure, "mock cluster: cannot start the brokers");
}

MockCluster::~MockCluster() = default;

std::string MockCluster::bootstrap_servers() const { return rd_kafka_mock_cluster_bootstraps(state_->cluster.get()); }

void MockCluster::create_topic(const std::string& topic, int partitions) {
  require(rd_kafka_mock_topic_create(state_->cluster.get(), topic.c_str(), partitions, state_->brokers),
          "create " + topic);
}

void MockCluster::fail_produce(int error, std::size_t count) {
  const std::vector<rd_kafka_resp_err_t> errors(count, static_cast<rd_kafka_resp_err_t>(error));
  rd_kafka_mock_push_request_errors_array(state_->cluster.get(), kProduceRequest, errors.size(), errors.data());
}

void MockCluster::delay_produce(std::int32_t broker, int ms, std::size_t count) {
  for (; count > 0; --count) {
    require(rd_kafka_mock_broker_push_request_error_rtts(state_->cluster.get(), broker, kProduceRequest, 1,
                                                         RD_KAFKA_RESP_ERR_NO_ERROR, ms),
            "delay answers of broker " + std::to_string(broker));
  }
}

void MockCluster::set_leader(const std::string& topic, std::int32_t partition, std::int32_t broker) {
  require(rd_kafka_mock_partition_set_leader(state_->cluster.get(), topic.c_str(), partition, broker),
          "set the leader of a partition of " + topic);
}

void MockCluster::set_broker_down(std::int32_t broker, bool down) {
  require(down ? rd_kafka_mock_broker_set_down(state_->cluster.get(), broker)
               : rd_kafka_mock_broker_set_up(state_->cluster.get(), broker),
          "switch broker " + std::to_string(broker));
}

void MockCluster::set_round_trip_ms(std::int32_t broker, int ms) {
  require(rd_kafka_mock_broker_set_rtt(state_->cluster.get(), broker, ms), "delay broker " + std::to_string(broker));
}

}  // namespace txbox::kafka
