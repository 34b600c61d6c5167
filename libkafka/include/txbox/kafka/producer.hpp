#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <txbox/base/bytes.hpp>
#include <txbox/base/headers.hpp>
#include <txbox/base/log.hpp>
#include <txbox/kafka/settings.hpp>

namespace txbox::kafka {

/// The number of the partition that Java's client chooses for a key (murmur2, KIP-480's keyed case), by
/// librdkafka's own function. REQUIRES: partition_count > 0.
[[nodiscard]] std::int32_t partition_for_key(std::string_view key, std::int32_t partition_count) noexcept;

struct HeaderView {
  std::string_view name;
  BytesView value;
};

enum class Persistence { not_persisted, possibly_persisted, persisted };

struct DeliveryReport {
  std::uint64_t tag = 0;  ///< As given to produce().
  int error = 0;          ///< rd_kafka_resp_err_t.
  Persistence persistence = Persistence::not_persisted;
  std::int32_t partition = -1;
  std::int64_t offset = -1;  ///< -1 when not known though persisted.
};

/// A client-level error event: a hint about why there is silence, never a verdict on a record.
struct ClientError {
  int error = 0;
  std::string text;
};

/// A connection to a broker that ended soon after it was made, or that was not made at all. Many in a row that
/// `came_up` while a record waits say that the broker closes it because of what is sent: a request above its
/// socket.request.max.bytes looks like this, for ever, and gives no report.
struct ConnectionEnd {
  std::string broker;    ///< HOST:PORT.
  bool came_up = false;  ///< The broker had answered on it.
};

/// Of the connections of one client since it was made, those that only find the cluster included: an idle client has no
/// other, and repeats no error.
struct ConnectionTally {
  std::uint64_t made = 0;    ///< A broker answered, and took the credentials.
  std::uint64_t failed = 0;  ///< It did not come to that.
  std::string last_failed;   ///< HOST:PORT.
};

struct ProducerOptions {
  Properties properties;  ///< Come after our defaults; checked as check_producer_properties() does.
  /// The probation producer: batch.num.messages=1, so that a refusal names its record.
  bool one_record_a_batch = false;
  std::int64_t batch_bytes_max = 0;    ///< Smallest topic limit: batch.size must not exceed it; 0 leaves the default.
  std::int64_t message_bytes_max = 0;  ///< Largest topic limit: message.max.bytes; 0 leaves the default.
  /// Size librdkafka's queue, whatever the properties say, so that the relay's own window is the bound.
  std::size_t window_records = 100'000;
  std::size_t window_bytes = 0;
  LogSink log;
};

/// What a topic allows, from metadata and DescribeConfigs.
struct TopicDescription {
  std::string name;
  int error = 0;  ///< rd_kafka_resp_err_t: UNKNOWN_TOPIC_OR_PART, TOPIC_AUTHORIZATION_FAILED, or a transport error.
  std::int32_t partitions = 0;
  /// max.message.bytes; the broker's default where DescribeConfigs is refused or unsupported.
  std::int64_t message_bytes_max = 1'048'588;
  bool compacted = false;     ///< cleanup.policy contains compact: a null key would be refused.
  bool limits_known = false;  ///< DescribeConfigs answered.
  /// The fewest of any partition; 0 where there is none.
  std::int32_t replicas = 0;
  std::int32_t replicas_in_sync = 0;
  /// By partition: the replicas in sync, 0 while it has no leader, and all that it should have.
  struct Replicas {
    std::int32_t in_sync = 0;
    std::int32_t assigned = 0;
  };
  std::vector<Replicas> by_partition;
  std::optional<std::int64_t> min_insync_replicas;  ///< With retention_ms and retention_bytes, of DescribeConfigs.
  std::optional<std::int64_t> retention_ms;         ///< -1: for ever.
  std::optional<std::int64_t> retention_bytes;      ///< Of a partition; -1: no limit.
  std::int32_t brokers = 0;  ///< That the cluster has, also where the topic is missing; 0: not told.
};

/// Of a topic to be made.
struct TopicShape {
  std::int32_t partitions = 1;
  std::int32_t replicas = -1;  ///< -1: the brokers' default.
};

struct TopicCreation {
  std::string name;
  int error = 0;     ///< rd_kafka_resp_err_t: TOPIC_ALREADY_EXISTS where somebody was quicker.
  std::string text;  ///< Kafka's, for a person.
};

/// One instance of an idempotent, gapless producer. All calls from one thread. Any error report or failed
/// produce() means: stop producing, purge(), poll until in_queue() is 0, destroy, make a new one.
class Producer {
 public:
  explicit Producer(const ProducerOptions& options);  ///< Throws configuration.
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;
  ~Producer();  ///< Purges first, so that it never waits for a broker; unserved reports are lost, so poll before.

  /// Makes the topic handle now, or the first record would wait for a one-second timer (librdkafka #5032).
  void add_topic(const std::string& topic);

  /// Hands one record over (copied). Returns 0 or the rd_kafka_resp_err_t; _QUEUE_FULL: poll and try again.
  /// `headers` are added in order. REQUIRES: add_topic(topic), partition >= 0.
  [[nodiscard]] int produce(const std::string& topic, std::int32_t partition, BytesView key, BytesView payload,
                            std::span<const HeaderView> headers, std::uint64_t tag);

  /// Serves reports into `out` (appended) for at most `timeout`; returns at once when some are there.
  void poll(std::chrono::milliseconds timeout, std::vector<DeliveryReport>& out);
  /// A descriptor that becomes readable when reports may be there, for poll(2). Drain it first, then poll(): the other
  /// way round a report that comes in between would wake nobody.
  [[nodiscard]] int report_descriptor() const noexcept;
  void drain_report_descriptor() noexcept;

  void purge();
  [[nodiscard]] std::size_t in_queue() const noexcept;  ///< Records handed over and not yet reported.
  [[nodiscard]] bool fatal() const noexcept;
  /// The newest specific client error since the last call (never _ALL_BROKERS_DOWN).
  [[nodiscard]] std::optional<ClientError> take_client_error();
  /// The connections that ended since the last call, in order; report_descriptor() tells of them as well.
  [[nodiscard]] std::vector<ConnectionEnd> take_connection_ends();
  [[nodiscard]] ConnectionTally connection_tally();

  /// The cluster's id; empty when not known within the timeout.
  [[nodiscard]] std::string cluster_id(std::chrono::milliseconds timeout);
  /// Metadata and limits of topics. Never creates a topic. A broker that cannot be reached: error of scope transport.
  [[nodiscard]] std::vector<TopicDescription> describe_topics(const std::vector<std::string>& topics,
                                                              std::chrono::milliseconds timeout);
  /// Makes topics; one answer for each. It may take a moment until all brokers know of them.
  [[nodiscard]] std::vector<TopicCreation> create_topics(const std::vector<std::string>& topics, TopicShape shape,
                                                         std::chrono::milliseconds timeout);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::kafka
