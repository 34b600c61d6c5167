#include "producer_configuration.hpp"

#include <array>
#include <string>

#include <doctest/doctest.h>

#include <txbox/base/error.hpp>

using txbox::kafka::ConfigurationHandle;
using txbox::kafka::producer_configuration;
using txbox::kafka::ProducerOptions;
using txbox::kafka::Properties;

namespace {

ProducerOptions options_with(Properties properties) {
  ProducerOptions options;
  options.properties = std::move(properties);
  options.properties.emplace_back("bootstrap.servers", "127.0.0.1:9092");
  return options;
}

std::string value_of(const ConfigurationHandle& configuration, const char* property) {
  std::array<char, 256> value{};
  std::size_t size = value.size();
  REQUIRE(rd_kafka_conf_get(configuration.get(), property, value.data(), &size) == RD_KAFKA_CONF_OK);
  return value.data();
}

}  // namespace

TEST_CASE("a producer is configured for order, durability and endless retries") {
  const ConfigurationHandle configuration = producer_configuration(options_with({}));
  CHECK(value_of(configuration, "enable.idempotence") == "true");
  CHECK(value_of(configuration, "enable.gapless.guarantee") == "true");
  CHECK(value_of(configuration, "request.required.acks") == "-1");
  CHECK(value_of(configuration, "message.timeout.ms") == "0");
  CHECK(value_of(configuration, "partitioner") == "murmur2_random");
  CHECK(value_of(configuration, "allow.auto.create.topics") == "false");
  CHECK(value_of(configuration, "socket.nagle.disable") == "true");
  CHECK(value_of(configuration, "socket.timeout.ms") == "10000");
  CHECK(value_of(configuration, "request.timeout.ms") == "5000");
  CHECK(value_of(configuration, "statistics.interval.ms") == "0");
}

TEST_CASE("the user's properties come after our defaults, and the last of two wins") {
  const ConfigurationHandle configuration = producer_configuration(
      options_with({{"linger.ms", "7"}, {"socket.timeout.ms", "30000"}, {"linger.ms", "9"}, {"client.id", "shop"}}));
  CHECK(value_of(configuration, "queue.buffering.max.ms") == "9");
  CHECK(value_of(configuration, "socket.timeout.ms") == "30000");
  CHECK(value_of(configuration, "client.id") == "shop");
}

TEST_CASE("the queue holds the window") {
  ProducerOptions options = options_with({});
  options.window_records = 4'321;
  CHECK(value_of(producer_configuration(options), "queue.buffering.max.messages") == "4321");
  options.window_records = 0;
  CHECK(value_of(producer_configuration(options), "queue.buffering.max.messages") == "1");
}

TEST_CASE("a queue smaller than the window is made as large, a larger one stays") {
  ProducerOptions options =
      options_with({{"queue.buffering.max.messages", "100"}, {"queue.buffering.max.kbytes", "1"}});
  options.window_records = 4'321;
  CHECK(value_of(producer_configuration(options), "queue.buffering.max.messages") == "4321");
  CHECK(value_of(producer_configuration(options), "queue.buffering.max.kbytes") == "1048576");
  options.window_bytes = std::size_t{3} << 30;
  CHECK(value_of(producer_configuration(options), "queue.buffering.max.kbytes") == "3145728");
  options.properties = {{"bootstrap.servers", "localhost"}, {"queue.buffering.max.messages", "9999"}};
  CHECK(value_of(producer_configuration(options), "queue.buffering.max.messages") == "9999");
}

TEST_CASE("a batch never exceeds the smallest topic limit, whatever the user wishes") {
  ProducerOptions options = options_with({{"batch.size", "500000"}});
  options.batch_bytes_max = 100'000;
  CHECK(value_of(producer_configuration(options), "batch.size") == "100000");
  options.batch_bytes_max = 900'000;
  CHECK(value_of(producer_configuration(options), "batch.size") == "500000");
  options.batch_bytes_max = 0;
  CHECK(value_of(producer_configuration(options), "batch.size") == "500000");
  options.batch_bytes_max = 1;
  CHECK(value_of(producer_configuration(options), "batch.size") == "1000");
}

TEST_CASE("a message may be as large as the largest topic limit, or as small as the user wishes") {
  ProducerOptions options = options_with({});
  CHECK(value_of(producer_configuration(options), "message.max.bytes") == "1000000");
  options.message_bytes_max = 5'000'000;
  CHECK(value_of(producer_configuration(options), "message.max.bytes") == "5000000");
  options.message_bytes_max = 3'000'000'000;
  CHECK(value_of(producer_configuration(options), "message.max.bytes") == "1000000000");
  options.properties.emplace_back("message.max.bytes", "2000");
  CHECK(value_of(producer_configuration(options), "message.max.bytes") == "2000");
  options.message_bytes_max = 1'500;
  CHECK(value_of(producer_configuration(options), "message.max.bytes") == "1500");
}

TEST_CASE("the probation producer sends one record a batch, even if the user wishes more") {
  ProducerOptions options = options_with({{"batch.num.messages", "5000"}});
  CHECK(value_of(producer_configuration(options), "batch.num.messages") == "5000");
  options.one_record_a_batch = true;
  CHECK(value_of(producer_configuration(options), "batch.num.messages") == "1");
}

TEST_CASE("a configuration without brokers or with a broken promise is refused") {
  CHECK_THROWS_AS(static_cast<void>(producer_configuration({})), txbox::Error);
  CHECK_THROWS_AS(static_cast<void>(producer_configuration(options_with({{"acks", "0"}}))), txbox::Error);
}

TEST_CASE("a client that librdkafka cannot make is an error, as often as it is tried") {
  // Found when the client is made, after everything that can be judged without one.
  for (const auto& [property, value] : {std::pair<std::string, std::string>{"ssl.ca.location", "/nowhere/ca.pem"},
                                        {"ssl.certificate.location", "/nowhere/client.pem"}}) {
    const ProducerOptions options = options_with({{"security.protocol", "ssl"}, {property, value}});
    for (int tries = 0; tries < 2; ++tries) {
      try {
        const txbox::kafka::Producer producer(options);
        FAIL("a client was made without its certificate");
      } catch (const txbox::Error& error) {
        CHECK(error.code() == txbox::ErrorCode::configuration);
        CHECK(std::string(error.what()).find(property) != std::string::npos);
      }
    }
  }
}
