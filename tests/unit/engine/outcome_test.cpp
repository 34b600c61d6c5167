#include "relay/engine/outcome.hpp"

#include <doctest/doctest.h>

namespace txbox::relay {

namespace {
// Numbers of Kafka's protocol and of librdkafka (rdkafka.h); a change of their meaning must fail here.
constexpr int kMessageSizeTooLarge = 10;
constexpr int kInvalidTimestamp = 32;
constexpr int kUnknownTopicOrPart = 3;
constexpr int kNotLeader = 6;
constexpr int kOutOfOrderSequence = 45;
constexpr int kLocalTransport = -195;
constexpr int kLocalTimedOut = -185;
constexpr int kLocalPurgedInFlight = -151;
constexpr int kLocalUnknownPartition = -190;
constexpr int kLocalUnknownTopic = -188;
constexpr int kLocalFatal = -150;

using kafka::Persistence;
}  // namespace

TEST_CASE("what was persisted is sent, whatever the code says") {
  CHECK(classify(0, Persistence::persisted) == ReportKind::sent);
  CHECK(classify(0, Persistence::not_persisted) == ReportKind::sent);
  CHECK(classify(kMessageSizeTooLarge, Persistence::persisted) == ReportKind::sent);
  CHECK(classify(kLocalFatal, Persistence::persisted) == ReportKind::sent);
}

TEST_CASE("what may be persisted is unknown, however permanent its code looks") {
  for (const int error : {kMessageSizeTooLarge, kUnknownTopicOrPart, kLocalPurgedInFlight, kafka_error::kPurgedInQueue,
                          kafka_error::kTopicAuthorizationFailed, kLocalTimedOut}) {
    CAPTURE(error);
    CHECK(classify(error, Persistence::possibly_persisted) == ReportKind::unknown);
  }
}

TEST_CASE("a permanent code of a record that is certainly not in the log refuses it") {
  for (const int error : {kMessageSizeTooLarge, kafka_error::kInvalidRecord, kInvalidTimestamp}) {
    CAPTURE(error);
    CHECK(classify(error, Persistence::not_persisted) == ReportKind::record_refused);
  }
}

TEST_CASE("codes that speak of the topic refuse no row") {
  for (const int error :
       {kUnknownTopicOrPart, kafka_error::kTopicAuthorizationFailed, kLocalUnknownPartition, kLocalUnknownTopic}) {
    CAPTURE(error);
    CHECK(classify(error, Persistence::not_persisted) == ReportKind::topic_refused);
  }
}

TEST_CASE("everything else is unknown and costs no attempt") {
  for (const int error :
       {kNotLeader, kOutOfOrderSequence, kLocalTransport, kLocalTimedOut, kafka_error::kPurgedInQueue, kLocalFatal}) {
    CAPTURE(error);
    CHECK(classify(error, Persistence::not_persisted) == ReportKind::unknown);
  }
}

TEST_CASE("a described topic is usable, missing, denied or unreachable") {
  kafka::TopicDescription description;
  description.name = "orders";
  description.partitions = 3;
  description.message_bytes_max = 5'000;
  description.compacted = true;
  CHECK(facts_of(description).message_bytes_max == 0);
  description.limits_known = true;
  TopicFacts facts = facts_of(description);
  CHECK(facts.state == TopicFacts::State::usable);
  CHECK(facts.partitions == 3);
  CHECK(facts.message_bytes_max == 5'000);
  CHECK(facts.compacted);
  CHECK(facts.reason.empty());
  CHECK(facts.min_insync_replicas == 0);
  description.min_insync_replicas = 2;
  description.by_partition = {{3, 3}, {0, 3}};
  facts = facts_of(description);
  CHECK(facts.min_insync_replicas == 2);
  REQUIRE(facts.by_partition.size() == 2);
  CHECK(facts.by_partition[0].in_sync == 3);
  CHECK(facts.by_partition[1].in_sync == 0);
  CHECK(facts.by_partition[1].assigned == 3);

  description.partitions = 0;
  CHECK(facts_of(description).state == TopicFacts::State::unreachable);
  description.error = kUnknownTopicOrPart;
  facts = facts_of(description);
  CHECK(facts.state == TopicFacts::State::missing);
  CHECK(facts.reason.find("UNKNOWN_TOPIC_OR_PART") == 0);
  description.error = kafka_error::kTopicAuthorizationFailed;
  CHECK(facts_of(description).state == TopicFacts::State::denied);
  description.error = kLocalTransport;
  CHECK(facts_of(description).state == TopicFacts::State::unreachable);
}

}  // namespace txbox::relay
