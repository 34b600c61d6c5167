#include <txbox/kafka/settings.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <librdkafka/rdkafka.h>

#include <txbox/base/error.hpp>

#include "property_names.hpp"

using txbox::kafka::check_producer_properties;
using txbox::kafka::is_secret;

namespace {

/// The reason why a property is refused; empty when it may pass.
std::string refusal(const std::string& property, const std::string& value) {
  try {
    check_producer_properties({{property, value}});
  } catch (const txbox::Error& error) {
    CHECK(error.code() == txbox::ErrorCode::configuration);
    return error.what();
  }
  return {};
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// What breaks a promise: a value that is refused, and one that may be said aloud.
struct Promise {
  std::vector<std::string> refused;
  std::vector<std::string> allowed;
};

const std::map<std::string, Promise> kPromises{
    {"enable.idempotence", {{"false", "f", "0"}, {"true", "t", "1"}}},
    {"enable.gapless.guarantee", {{"false"}, {"true"}}},
    {"request.required.acks", {{"0", "1", "2"}, {"all", "-1"}}},
    {"acks", {{"0", "1", "2"}, {"all", "-1"}}},
    {"message.timeout.ms", {{"1", "300000"}, {"0"}}},
    {"delivery.timeout.ms", {{"1", "300000"}, {"0"}}},
    {"message.send.max.retries", {{"0", "5"}, {"2147483647"}}},
    {"retries", {{"0", "5"}, {"2147483647"}}},
    {"max.in.flight.requests.per.connection", {{"6", "1000000"}, {"1", "5"}}},
    {"max.in.flight", {{"6", "1000000"}, {"1", "5"}}},
    {"queuing.strategy", {{"lifo"}, {"fifo"}}},
    {"topic.blacklist", {{".*"}, {""}}},
    {"partitioner",
     {{"random", "consistent", "consistent_random", "murmur2", "fnv1a", "fnv1a_random"}, {"murmur2_random"}}},
    {"transactional.id", {{"relay-1"}, {}}},
    {"allow.auto.create.topics", {{"true"}, {"false"}}},
    {"delivery.report.only.error", {{"true"}, {"false"}}},
    {"api.version.request", {{"false"}, {"true"}}},
    {"enabled_events", {{"0", "1"}, {}}},
    {"enable_sasl_queue", {{"true", "false"}, {}}},
    {"log.queue", {{"true", "false"}, {}}},
    {"test.mock.num.brokers", {{"0", "3"}, {}}},
    {"test.mock.broker.rtt", {{"0", "10"}, {}}},
};

/// Properties that change speed, sizes, security or words, and no promise; the defaults of each must pass.
/// A consumer's ones have no effect on a producer, and librdkafka says so in its log.
const std::set<std::string, std::less<>> kHarmless{
    "api.version.fallback.ms",
    "api.version.request.timeout.ms",
    "auto.commit.enable",
    "auto.commit.interval.ms",
    "auto.offset.reset",
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
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.metrics.push",
    "enable.partition.eof",
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
    "group.id",
    "group.instance.id",
    "group.protocol",
    "group.protocol.type",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "https.ca.location",
    "https.ca.pem",
    "internal.termination.signal",
    "isolation.level",
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
    "offset.store.method",
    "offset.store.path",
    "offset.store.sync.interval.ms",
    "partition.assignment.strategy",
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
  static const std::set<std::string, std::less<>> kPointers{
      "default_topic_conf",       "interceptors", "msg_order_cmp", "opaque", "ssl_ca", "ssl_certificate",
      "ssl_engine_callback_data", "ssl_key"};
  return name.ends_with("_cb") || kPointers.contains(name);
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

TEST_CASE("a value that breaks a promise is refused with the property's name and the reason") {
  for (const auto& [property, promise] : kPromises) {
    CAPTURE(property);
    for (const std::string& value : promise.refused) {
      CAPTURE(value);
      const std::string reason = refusal(property, value);
      CHECK(contains(reason, "kafka property " + property + ": "));
      CHECK(reason.size() > property.size() + 40);
    }
    for (const std::string& value : promise.allowed) {
      CAPTURE(value);
      CHECK(refusal(property, value).empty());
    }
  }
}

TEST_CASE("every property that librdkafka knows is judged: it keeps, breaks or does not touch a promise") {
  std::set<std::string> names;
  for (const std::string& name : txbox::kafka::property_names()) names.insert(name);
  const std::map<std::string, std::string> defaults = dumped_defaults();
  for (const auto& [name, value] : defaults) names.insert(name);
  REQUIRE(names.size() > 150);
  for (const std::string& name : names) {
    CAPTURE(name);
    const int judged = static_cast<int>(kPromises.contains(name)) + static_cast<int>(kHarmless.contains(name)) +
                       static_cast<int>(is_security(name) && !is_pointer(name)) + static_cast<int>(is_pointer(name));
    CHECK(judged == 1);
    if (is_pointer(name)) CHECK_FALSE(refusal(name, "1").empty());
    const auto found = defaults.find(name);
    if (found == defaults.end() || found->second.empty() || kPromises.contains(name) || is_pointer(name)) continue;
    // Some builds of librdkafka lack the feature behind a property, and refuse even its default.
    const std::string reason = refusal(name, found->second);
    CHECK((reason.empty() || contains(reason, "not supported in this build")));
  }
}

TEST_CASE("a broken promise is found wherever it stands in the list") {
  CHECK_THROWS_AS(check_producer_properties({{"linger.ms", "5"}, {"acks", "1"}, {"acks", "all"}}), txbox::Error);
  CHECK_NOTHROW(check_producer_properties({{"linger.ms", "5"}, {"compression.type", "lz4"}, {"acks", "all"}}));
  CHECK_NOTHROW(check_producer_properties({}));
}

TEST_CASE("an unknown property is refused, and the nearest known one is named") {
  CHECK(contains(refusal("linger", "5"), "did you mean linger.ms?"));
  CHECK(contains(refusal("bootstrap.server", "a:1"), "did you mean bootstrap.servers?"));
  CHECK(contains(refusal("sasl.pasword", "geheim"), "did you mean sasl.password?"));
  CHECK_FALSE(contains(refusal("sasl.pasword", "geheim"), "geheim"));
  const std::string reason = refusal("colour", "red");
  CHECK(contains(reason, "knows no such property"));
  CHECK_FALSE(contains(reason, "did you mean"));
}

TEST_CASE("librdkafka's hidden test hooks are refused before they are tried") {
  CHECK(contains(refusal("ut_handle_ProduceResponse", "1"), "test hook"));
}

TEST_CASE("a value that librdkafka refuses is refused with librdkafka's words") {
  CHECK(contains(refusal("socket.timeout.ms", "soon"), "socket.timeout.ms"));
  CHECK(contains(refusal("compression.type", "rar"), "rar"));
}

TEST_CASE("secrets are known by name, and no text repeats their value") {
  for (const char* name :
       {"sasl.password", "ssl.key.password", "ssl.keystore.password", "ssl.key.pem", "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.config", "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.assertion.private.key.passphrase", "sasl.oauthbearer.assertion.private.key.pem"}) {
    CAPTURE(name);
    CHECK(is_secret(name));
    CHECK_FALSE(contains(refusal(name, "geheim"), "geheim"));
  }
  for (const char* name : {"sasl.username", "bootstrap.servers", "ssl.key.location", "ssl.ca.pem", "client.id", ""}) {
    CAPTURE(name);
    CHECK_FALSE(is_secret(name));
  }
}

TEST_CASE("the version is that of the library linked at run time") {
  CHECK(txbox::kafka::library_version() == rd_kafka_version_str());
}
