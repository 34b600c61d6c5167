#include <functional>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include <txbox/base/error.hpp>
#include <txbox/kafka/settings.hpp>

#include "property_judgement.hpp"

using txbox::kafka::check_consumer_properties;
using txbox::test::check_promises;
using txbox::test::check_that_all_are_judged;
using txbox::test::contains;
using txbox::test::Promises;

namespace {

std::string refusal(const std::string& property, const std::string& value) {
  return txbox::test::refusal(check_consumer_properties, property, value);
}

const Promises kPromises{
    {"enable.auto.commit", {{"true", "t", "1"}, {"false", "f", "0"}}},
    {"auto.commit.enable", {{"true", "t", "1"}, {"false"}}},
    {"enable.auto.offset.store", {{"true", "1"}, {"false", "0"}}},
    {"offset.store.method", {{"file", "none"}, {"broker"}}},
    {"auto.offset.reset", {{"smallest", "earliest", "beginning", "largest", "latest", "end"}, {"error"}}},
    {"isolation.level", {{"read_uncommitted"}, {"read_committed"}}},
    {"enable.partition.eof", {{"false"}, {"true"}}},
    {"partition.assignment.strategy",
     {{"cooperative-sticky", "range,cooperative-sticky"}, {"range", "roundrobin", "range,roundrobin"}}},
    {"group.id", {{"billing", ""}, {}}},
    {"allow.auto.create.topics", {{"true"}, {"false"}}},
    {"topic.blacklist", {{".*"}, {""}}},
    {"api.version.request", {{"false"}, {"true"}}},
    {"enabled_events", {{"0", "1"}, {}}},
    {"enable_sasl_queue", {{"true", "false"}, {}}},
    {"log.queue", {{"true", "false"}, {}}},
    {"test.mock.num.brokers", {{"0", "3"}, {}}},
    {"test.mock.broker.rtt", {{"0", "10"}, {}}},
};

/// A producer's properties have no effect on a consumer, and librdkafka says so in its log. Only later versions know
/// group.protocol; the case below judges it.
const std::set<std::string, std::less<>> kOfProducers{
    "acks",
    "delivery.report.only.error",
    "delivery.timeout.ms",
    "enable.gapless.guarantee",
    "enable.idempotence",
    "group.protocol",
    "max.in.flight",
    "max.in.flight.requests.per.connection",
    "message.send.max.retries",
    "message.timeout.ms",
    "partitioner",
    "queuing.strategy",
    "request.required.acks",
    "retries",
    "transactional.id",
};

}  // namespace

TEST_CASE("a consumer's property that breaks a promise is refused with its name and the reason") {
  check_promises(check_consumer_properties, kPromises);
}

TEST_CASE("every property that librdkafka knows is judged for consumers too") {
  check_that_all_are_judged(check_consumer_properties, kPromises, kOfProducers);
}

TEST_CASE("the protocol whose members never hold still is refused, where librdkafka knows it") {
  CHECK_FALSE(refusal("group.protocol", "consumer").empty());
}

TEST_CASE("a consumer's broken promise is found wherever it stands, and unknown names get the nearest one") {
  CHECK_THROWS_AS(check_consumer_properties({{"session.timeout.ms", "9000"}, {"auto.offset.reset", "latest"}}),
                  txbox::Error);
  CHECK_NOTHROW(check_consumer_properties({{"session.timeout.ms", "9000"}, {"group.instance.id", "billing-1"}}));
  CHECK(contains(refusal("session.timeout", "9000"), "did you mean session.timeout.ms?"));
  CHECK_FALSE(contains(refusal("sasl.pasword", "geheim"), "geheim"));
}
