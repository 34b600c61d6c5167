#include "relay/doctor/kafka_checks.hpp"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <txbox/base/error.hpp>
#include <txbox/kafka/errors.hpp>

#include "relay/engine/broker_trouble.hpp"
#include "relay/engine/topic_command.hpp"

namespace txbox::relay::doctor {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr auto kAnswerTimeout = 6000ms;
constexpr auto kGlance = 100ms;
/// What a record batch and the relay's own headers add to key, payload and headers.
constexpr std::int64_t kRecordOverhead = 1024;
/// Consumers that are down for a weekend come back to records that are still there.
constexpr std::int64_t kRetentionWantedMs = std::int64_t{3} * 24 * 3600 * 1000;

Check of_topic(const kafka::TopicDescription& topic, std::string name, Result result, std::string text,
               std::string remedy) {
  return {.subject = "topic " + topic.name,
          .name = std::move(name),
          .result = result,
          .text = std::move(text),
          .remedy = std::move(remedy)};
}

Check of_broker(Result result, std::string text, std::string remedy, ExitCode code) {
  return {.subject = {},
          .name = "broker",
          .result = result,
          .text = std::move(text),
          .remedy = std::move(remedy),
          .code = code};
}

std::string brokers_of(const kafka::Properties& properties) {
  std::string brokers;
  for (const auto& [name, value] : properties) {
    if (name == "bootstrap.servers" || name == "metadata.broker.list") brokers = value;
  }
  return brokers;
}

Check unreachable(const std::string& why) {
  return of_broker(Result::failure, "Kafka cannot be reached: " + why,
                   "start the broker, or mend --brokers, the network or advertised.listeners", ExitCode::try_later);
}

/// Waits until the cluster said who it is, or an error said why it will not.
Check reach(kafka::Producer& client) {
  const auto deadline = steady_clock::now() + kAnswerTimeout;
  std::vector<kafka::DeliveryReport> none;
  std::optional<kafka::ClientError> last;
  while (steady_clock::now() < deadline) {
    const std::string cluster = client.cluster_id(kGlance);
    if (!cluster.empty()) return of_broker(Result::ok, "cluster " + cluster, {}, ExitCode::ok);
    client.poll(0ms, none);
    if (auto error = client.take_client_error()) last = std::move(error);
    if (!last) continue;
    // These do not heal by waiting; a refused connection may be one broker of several.
    const BrokerTrouble trouble = trouble_of(*last);
    if (trouble == BrokerTrouble::auth_failed || trouble == BrokerTrouble::tls_failed) break;
  }
  return last ? broker_trouble(*last) : unreachable("nothing answers");
}

void add_topic_checks(Checks& checks, const kafka::TopicDescription& topic, std::int64_t limit,
                      const std::string& brokers) {
  checks.push_back(topic_is_there(topic, brokers));
  if (topic.error != 0) return;
  checks.push_back(topic_takes_records(topic, limit));
  checks.push_back(topic_replicas(topic));
  checks.push_back(topic_retention(topic));
}

Check clock_not_checked() {
  return {.subject = {},
          .name = "clock",
          .result = Result::not_checked,
          .text = "Kafka tells its time only in records, and the doctor writes none",
          .remedy = "let NTP set the clocks: rows are due by this machine's, consumers read by the broker's"};
}

}  // namespace

Check broker_trouble(const kafka::ClientError& error) {
  switch (trouble_of(error)) {
    case BrokerTrouble::auth_failed:
      return of_broker(Result::failure, "Kafka refuses the credentials: " + error.text,
                       "mend sasl.mechanisms, sasl.username or sasl.password_file, or the user on the broker",
                       ExitCode::configuration);
    case BrokerTrouble::tls_failed:
      return of_broker(Result::failure, "TLS to Kafka fails: " + error.text,
                       "mend ssl.ca.location, the client's certificate, or the name in the broker's certificate",
                       ExitCode::configuration);
    case BrokerTrouble::unreachable:
    case BrokerTrouble::other: return unreachable(error.text);
  }
  return unreachable(error.text);
}

Check topic_is_there(const kafka::TopicDescription& topic, const std::string& brokers) {
  if (topic.error == 0) {
    const std::string count = std::to_string(topic.partitions);
    return of_topic(topic, "exists", Result::ok, count + (topic.partitions == 1 ? " partition" : " partitions"), {});
  }
  const std::string reason = kafka::describe(topic.error);
  if (reason.starts_with("UNKNOWN_TOPIC_OR_PART")) {
    return of_topic(topic, "exists", Result::failure, "is not there; the relay never creates a topic by itself",
                    create_topic_command(topic.name, brokers, topic.brokers));
  }
  if (kafka::scope_of(topic.error) == kafka::ErrorScope::topic) {
    return of_topic(topic, "exists", Result::failure, reason,
                    "allow this user to describe and to write the topic (kafka-acls.sh --add --producer)");
  }
  return of_topic(topic, "exists", Result::not_checked, reason, {});
}

Check topic_takes_records(const kafka::TopicDescription& topic, std::int64_t max_record_bytes) {
  constexpr auto kName = "max.message.bytes";
  if (!topic.limits_known) {
    return of_topic(topic, kName, Result::not_checked, "the broker does not tell the topic's configuration",
                    "allow this user DescribeConfigs on the topic");
  }
  const std::string limit = std::to_string(topic.message_bytes_max);
  if (max_record_bytes == 0 || max_record_bytes + kRecordOverhead <= topic.message_bytes_max) {
    return of_topic(topic, kName, Result::ok, limit, {});
  }
  return of_topic(topic, kName, Result::failure,
                  limit + ", and the file allows rows of " + std::to_string(max_record_bytes) +
                      " bytes: the largest would be refused and parked",
                  "raise max.message.bytes of the topic above " + std::to_string(max_record_bytes + kRecordOverhead) +
                      ", or lower the file's limit with outbox-relay init --max-record-bytes");
}

Check topic_replicas(const kafka::TopicDescription& topic) {
  constexpr auto kName = "min.insync.replicas";
  const std::string replicas =
      std::to_string(topic.replicas) + " replicas, " + std::to_string(topic.replicas_in_sync) + " in sync";
  if (!topic.min_insync_replicas) return of_topic(topic, kName, Result::not_checked, replicas, {});
  const std::int64_t wanted = *topic.min_insync_replicas;
  const std::string text = std::to_string(wanted) + " of " + replicas;
  if (wanted > topic.replicas || wanted > topic.replicas_in_sync) {
    return of_topic(topic, kName, Result::failure, text + ": nothing is acknowledged",
                    "bring brokers back, or give the topic more replicas than min.insync.replicas");
  }
  if (topic.replicas == 1) {
    return of_topic(topic, kName, Result::warning, text + ": what the only broker loses is lost",
                    "three replicas and min.insync.replicas=2 survive the loss of a broker");
  }
  if (wanted == topic.replicas) {
    return of_topic(topic, kName, Result::warning, text + ": one broker away stops the topic",
                    "one replica more than min.insync.replicas lets a broker restart unnoticed");
  }
  if (wanted == 1) {
    return of_topic(topic, kName, Result::warning, text + ": a record may be acknowledged by one broker alone",
                    "min.insync.replicas=2");
  }
  return of_topic(topic, kName, Result::ok, text, {});
}

Check topic_retention(const kafka::TopicDescription& topic) {
  constexpr auto kName = "retention";
  if (topic.compacted) {
    return of_topic(topic, kName, Result::warning,
                    "compacted: older records of a key go, rows without a key are refused",
                    "right for the newest state of a thing; events want cleanup.policy=delete");
  }
  if (!topic.retention_ms) return of_topic(topic, kName, Result::not_checked, "not told by the broker", {});
  if (*topic.retention_ms < 0) return of_topic(topic, kName, Result::ok, "records are kept for ever", {});
  const std::string hours = std::to_string(*topic.retention_ms / 3'600'000) + " hours";
  if (*topic.retention_ms >= kRetentionWantedMs) return of_topic(topic, kName, Result::ok, hours, {});
  return of_topic(topic, kName, Result::warning, hours + ": a consumer that is down longer misses records",
                  "raise retention.ms above the longest outage of a consumer that you want to survive");
}

Checks examine_kafka(const kafka::Properties& properties, const TopicLimits& topics) {
  const std::string brokers = brokers_of(properties);
  if (brokers.empty()) {
    return {of_broker(Result::not_checked, "no broker is named", "give --brokers HOST:PORT", ExitCode::ok),
            clock_not_checked()};
  }
  Checks checks;
  try {
    kafka::ProducerOptions options;
    options.properties = properties;
    kafka::Producer client(options);
    checks.push_back(reach(client));
    if (checks.back().result != Result::ok) return checks;
    std::vector<std::string> names;
    for (const auto& [name, limit] : topics) names.push_back(name);
    for (const kafka::TopicDescription& topic : client.describe_topics(names, kAnswerTimeout)) {
      add_topic_checks(checks, topic, topics.at(topic.name), brokers);
    }
  } catch (const Error& error) {
    checks.push_back(of_broker(Result::failure, error.what(), "mend the configuration", exit_code_for(error.code())));
    return checks;
  }
  checks.push_back(clock_not_checked());
  return checks;
}

}  // namespace txbox::relay::doctor
