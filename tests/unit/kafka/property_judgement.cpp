#include "property_judgement.hpp"

#include <cstddef>
#include <functional>

#include <doctest/doctest.h>
#include <librdkafka/rdkafka.h>

#include <txbox/base/error.hpp>
#include <txbox/kafka/settings.hpp>

namespace txbox::test {
namespace {

/// Properties that change speed, sizes, security or words, and no promise; the defaults of each must pass.
const std::set<std::string, std::less<>> kHarmlessToAll{
    "api.version.fallback.ms",
    "api.version.request.timeout.ms",
    "auto.commit.interval.ms",
    "batch.num.messages",
    "batch.size",
    "bootstrap.servers",
    "broker.address.family",
    "broker.address.ttl",
    "broker.version.fallback",
    "builtin.features",
    "check.crcs",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "client.software.name",
    "client.software.version",
    "compression.codec",
    "compression.level",
    "compression.type",
    "connections.max.idle.ms",
    "consume.callback.max.messages",
    "coordinator.query.interval.ms",
    "debug",
    "enable.metrics.push",
    "enable.random.seed",
    "enable.sasl.oauthbearer.unsecure.jwt",
    "enable.sparse.connections",
    "enable.ssl.certificate.verification",
    "fetch.error.backoff.ms",
    "fetch.max.bytes",
    "fetch.message.max.bytes",
    "fetch.min.bytes",
    "fetch.queue.backoff.ms",
    "fetch.wait.max.ms",
    "group.instance.id",
    "group.protocol.type",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "https.ca.location",
    "https.ca.pem",
    "internal.termination.signal",
    "linger.ms",
    "log.connection.close",
    "log.thread.name",
    "log_level",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "max.poll.records",
    "message.copy.max.bytes",
    "message.max.bytes",
    "metadata.broker.list",
    "metadata.max.age.ms",
    "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy",
    "metadata.request.timeout.ms",
    "offset.store.path",
    "offset.store.sync.interval.ms",
    "plugin.library.paths",
    "produce.offset.report",
    "queue.buffering.backpressure.threshold",
    "queue.buffering.max.kbytes",
    "queue.buffering.max.messages",
    "queue.buffering.max.ms",
    "queued.max.messages.kbytes",
    "queued.min.messages",
    "receive.message.max.bytes",
    "reconnect.backoff.jitter.ms",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "security.protocol",
    "session.timeout.ms",
    "share.acknowledgement.mode",
    "socket.blocking.max.ms",
    "socket.connection.setup.timeout.ms",
    "socket.keepalive.enable",
    "socket.max.fails",
    "socket.nagle.disable",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
    "socket.timeout.ms",
    "statistics.interval.ms",
    "sticky.partitioning.linger.ms",
    "topic.metadata.propagation.max.ms",
    "topic.metadata.refresh.fast.cnt",
    "topic.metadata.refresh.fast.interval.ms",
    "topic.metadata.refresh.interval.ms",
    "topic.metadata.refresh.sparse",
    "transaction.timeout.ms",
};

bool is_security(std::string_view name) { return name.starts_with("sasl.") || name.starts_with("ssl"); }

/// librdkafka takes these by a function of their own, never as text.
bool is_pointer(std::string_view name) {
  static const std::set<std::string, std::less<>> pointers{
      "default_topic_conf",       "interceptors", "msg_order_cmp", "opaque", "ssl_ca", "ssl_certificate",
      "ssl_engine_callback_data", "ssl_key"};
  return name.ends_with("_cb") || pointers.contains(name);
}

/// The global value where a topic has one of the same name.
std::map<std::string, std::string> dumped_defaults() {
  std::map<std::string, std::string> defaults;
  const auto add = [&defaults](const char** pairs, std::size_t size) {
    for (std::size_t index = 0; index + 1 < size; index += 2) defaults.emplace(pairs[index], pairs[index + 1]);
    rd_kafka_conf_dump_free(pairs, size);
  };
  std::size_t count = 0;
  rd_kafka_conf_t* configuration = rd_kafka_conf_new();
  const char** dump = rd_kafka_conf_dump(configuration, &count);
  add(dump, count);
  rd_kafka_conf_destroy(configuration);
  rd_kafka_topic_conf_t* topic_configuration = rd_kafka_topic_conf_new();
  dump = rd_kafka_topic_conf_dump(topic_configuration, &count);
  add(dump, count);
  rd_kafka_topic_conf_destroy(topic_configuration);
  return defaults;
}

}  // namespace

std::string refusal(Check check, const std::string& property, const std::string& value) {
  try {
    check({{property, value}});
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::configuration);
    return error.what();
  }
  return {};
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

void check_promises(Check check, const Promises& promises) {
  for (const auto& [name, promise] : promises) {
    const std::string property(name);
    CAPTURE(property);
    for (const std::string& value : promise.refused) {
      CAPTURE(value);
      const std::string reason = refusal(check, property, value);
      CHECK(contains(reason, "kafka property " + property + ": "));
      CHECK(reason.size() > property.size() + 40);
    }
    for (const std::string& value : promise.allowed) {
      CAPTURE(value);
      CHECK(refusal(check, property, value).empty());
    }
  }
}

void check_that_all_are_judged(Check check, const Promises& promises,
                               const std::set<std::string, std::less<>>& harmless) {
  std::set<std::string> names;
  for (const std::string& name : kafka::property_names()) names.insert(name);
  const std::map<std::string, std::string> defaults = dumped_defaults();
  for (const auto& [name, value] : defaults) names.insert(name);
  REQUIRE(names.size() > 150);
  for (const std::string& name : names) {
    CAPTURE(name);
    const int judged = static_cast<int>(promises.contains(name)) + static_cast<int>(kHarmlessToAll.contains(name)) +
                       static_cast<int>(harmless.contains(name)) +
                       static_cast<int>(is_security(name) && !is_pointer(name)) + static_cast<int>(is_pointer(name));
    CHECK(judged == 1);
    if (is_pointer(name)) CHECK_FALSE(refusal(check, name, "1").empty());
    const auto found = defaults.find(name);
    if (found == defaults.end() || found->second.empty() || promises.contains(name) || is_pointer(name)) continue;
    // Some builds of librdkafka lack the feature behind a property, and refuse even its default.
    const std::string reason = refusal(check, name, found->second);
    CHECK((reason.empty() || contains(reason, "not supported in this build")));
  }
}

}  // namespace txbox::test
