#include "producer_configuration.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <string>

#include <txbox/base/error.hpp>

namespace txbox::kafka {
namespace {

constexpr std::array kGuaranteed{
    Setting{"enable.idempotence", "true"},
    Setting{"enable.gapless.guarantee", "true"},
    Setting{"acks", "all"},
    Setting{"message.timeout.ms", "0"},
    Setting{"max.in.flight.requests.per.connection", "5"},
    Setting{"partitioner", "murmur2_random"},
    Setting{"allow.auto.create.topics", "false"},
};

constexpr std::array kDefaults{
    // A frozen broker is noticed after this time; librdkafka's own 60 s would be the length of the stall.
    Setting{"socket.timeout.ms", "10000"},
    Setting{"request.timeout.ms", "5000"},
    Setting{"socket.nagle.disable", "true"},
    Setting{"socket.keepalive.enable", "true"},
    // Batches still form by themselves: while requests are in flight the queue fills.
    Setting{"linger.ms", "0"},
    // A grown partition count and a recreated topic are noticed within this time.
    Setting{"topic.metadata.refresh.interval.ms", "30000"},
    // After an outage the backlog starts to drain this soon.
    Setting{"reconnect.backoff.max.ms", "2000"},
    Setting{"statistics.interval.ms", "0"},
};

/// The ranges that librdkafka documents for these properties.
constexpr std::int64_t kBytesMin = 1'000;
constexpr std::int64_t kBytesMax = 1'000'000'000;
/// librdkafka's default.
constexpr std::size_t kQueueKbytesLeast = 1'048'576;

std::int64_t number_of(const rd_kafka_conf_t* configuration, const std::string& property) {
  return std::atoll(value_of(configuration, property.c_str()).c_str());
}

/// Lowers `property` to `limit` unless it is lower already: a user may ask for less than a topic allows, not for more.
void lower_to(rd_kafka_conf_t* configuration, const std::string& property, std::int64_t limit) {
  const std::int64_t current = number_of(configuration, property);
  set_property(configuration, property, std::to_string(std::min(current, std::clamp(limit, kBytesMin, kBytesMax))));
}

/// The other way round: what is in flight is bounded by the relay's window, and a queue that cannot hold that is full
/// at a slow broker, where no waiting helps.
void raise_to(rd_kafka_conf_t* configuration, const std::string& property, std::size_t least) {
  const auto bounded = std::clamp<std::size_t>(least, 1, static_cast<std::size_t>(std::numeric_limits<int>::max()));
  const std::int64_t current = number_of(configuration, property);
  set_property(configuration, property, std::to_string(std::max(current, static_cast<std::int64_t>(bounded))));
}

void set_limits(rd_kafka_conf_t* configuration, const ProducerOptions& options) {
  if (options.message_bytes_max > 0) {
    // The topics' own limit, in place of librdkafka's default of 1,000,000, which is lower than Kafka's.
    if (!names(options.properties, "message.max.bytes")) {
      set_property(configuration, "message.max.bytes", std::to_string(kBytesMax));
    }
    lower_to(configuration, "message.max.bytes", options.message_bytes_max);
  }
  if (options.batch_bytes_max > 0) lower_to(configuration, "batch.size", options.batch_bytes_max);
  if (options.one_record_a_batch) set_property(configuration, "batch.num.messages", "1");
}

}  // namespace

std::span<const Setting> guaranteed_producer_settings() noexcept { return kGuaranteed; }

Properties producer_settings() {
  Properties properties;
  for (const std::span<const Setting> settings :
       {std::span<const Setting>(kGuaranteed), std::span<const Setting>(kDefaults)}) {
    for (const Setting& setting : settings) properties.emplace_back(setting.property, setting.value);
  }
  return properties;
}

ConfigurationHandle producer_configuration(const ProducerOptions& options) {
  check_brokers(options.properties);
  check_producer_properties(options.properties);
  ConfigurationHandle configuration(rd_kafka_conf_new());
  set_properties(configuration.get(), kGuaranteed);
  set_properties(configuration.get(), kDefaults);
  const std::size_t queue_records =
      std::clamp<std::size_t>(options.window_records, 1, static_cast<std::size_t>(std::numeric_limits<int>::max()));
  set_property(configuration.get(), "queue.buffering.max.messages", std::to_string(queue_records));
  for (const auto& [property, value] : options.properties) set_property(configuration.get(), property, value);
  raise_to(configuration.get(), "queue.buffering.max.messages", options.window_records);
  raise_to(configuration.get(), "queue.buffering.max.kbytes", std::max(kQueueKbytesLeast, options.window_bytes >> 10));
  set_limits(configuration.get(), options);
  // Log lines wait in the main queue and are served by poll(): the sink is called from the caller's thread only.
  set_property(configuration.get(), "log.queue", "true");
  return configuration;
}

}  // namespace txbox::kafka
