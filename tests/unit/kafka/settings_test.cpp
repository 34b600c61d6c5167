#include <txbox/kafka/settings.hpp>

#include <functional>
#include <set>
#include <string>

#include <doctest/doctest.h>
#include <librdkafka/rdkafka.h>

#include <txbox/base/error.hpp>

#include "property_judgement.hpp"

using txbox::kafka::check_producer_properties;
using txbox::kafka::is_secret;
using txbox::test::check_promises;
using txbox::test::check_that_all_are_judged;
using txbox::test::contains;
using txbox::test::Promises;

namespace {

std::string refusal(const std::string& property, const std::string& value) {
  return txbox::test::refusal(check_producer_properties, property, value);
}

const Promises kPromises{
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

/// A consumer's properties have no effect on a producer, and librdkafka says so in its log.
const std::set<std::string, std::less<>> kOfConsumers{
    "auto.commit.enable",   "auto.offset.reset",
    "enable.auto.commit",   "enable.auto.offset.store",
    "enable.partition.eof", "group.id",
    "group.protocol",       "isolation.level",
    "offset.store.method",  "partition.assignment.strategy",
};

}  // namespace

TEST_CASE("a value that breaks a promise is refused with the property's name and the reason") {
  check_promises(check_producer_properties, kPromises);
}

TEST_CASE("every property that librdkafka knows is judged: it keeps, breaks or does not touch a promise") {
  check_that_all_are_judged(check_producer_properties, kPromises, kOfConsumers);
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

TEST_CASE("a value that librdkafka refuses is refused by the name that was given") {
  const std::string reason = refusal("linger.ms", "abc");
  CHECK(contains(reason, "kafka property linger.ms: "));
  CHECK(contains(reason, "(librdkafka's other name of linger.ms)"));
  CHECK_FALSE(contains(refusal("socket.timeout.ms", "abc"), "other name"));
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
  for (const char* name : {"sasl.username", "bootstrap.servers", "ssl.key.location", "ssl.ca.pem", "client.id",
                           "enable.sasl.oauthbearer.unsecure.jwt", ""}) {
    CAPTURE(name);
    CHECK_FALSE(is_secret(name));
  }
}

TEST_CASE("the version is that of the library linked at run time") {
  CHECK(txbox::kafka::library_version() == rd_kafka_version_str());
}
