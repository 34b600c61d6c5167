#include <txbox/kafka/errors.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <librdkafka/rdkafka.h>

using txbox::kafka::describe;
using txbox::kafka::ErrorScope;
using txbox::kafka::scope_of;

TEST_CASE("a refusal of the record or its batch is told from everything else") {
  for (int code :
       {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP,
        RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, RD_KAFKA_RESP_ERR_INVALID_MSG, RD_KAFKA_RESP_ERR_POLICY_VIOLATION}) {
    CAPTURE(code);
    CHECK(scope_of(code) == ErrorScope::record);
  }
}

TEST_CASE("codes that speak of the topic never speak of a record") {
  for (int code :
       {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
        RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION}) {
    CAPTURE(code);
    CHECK(scope_of(code) == ErrorScope::topic);
  }
}

TEST_CASE("what passes by itself is transport") {
  for (int code :
       {RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__RESOLVE, RD_KAFKA_RESP_ERR__TIMED_OUT,
        RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
        RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
        RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE}) {
    CAPTURE(code);
    CHECK(scope_of(code) == ErrorScope::transport);
  }
}

TEST_CASE("credentials, TLS and the end of a producer have scopes of their own") {
  CHECK(scope_of(RD_KAFKA_RESP_ERR__AUTHENTICATION) == ErrorScope::authentication);
  CHECK(scope_of(RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED) == ErrorScope::authentication);
  CHECK(scope_of(RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED) == ErrorScope::authentication);
  CHECK(scope_of(RD_KAFKA_RESP_ERR__SSL) == ErrorScope::tls);
  for (int code : {RD_KAFKA_RESP_ERR__FATAL, RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE, RD_KAFKA_RESP_ERR__FENCED,
                   RD_KAFKA_RESP_ERR__PURGE_QUEUE, RD_KAFKA_RESP_ERR__PURGE_INFLIGHT,
                   RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID,
                   RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH}) {
    CAPTURE(code);
    CHECK(scope_of(code) == ErrorScope::producer);
  }
}

TEST_CASE("no error is none, and nothing else is") {
  CHECK(scope_of(RD_KAFKA_RESP_ERR_NO_ERROR) == ErrorScope::none);
  const rd_kafka_err_desc* descriptions = nullptr;
  std::size_t count = 0;
  rd_kafka_get_err_descs(&descriptions, &count);
  REQUIRE(count > 100);
  for (std::size_t index = 0; index < count; ++index) {
    if (descriptions[index].code == RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    CHECK(scope_of(descriptions[index].code) != ErrorScope::none);
  }
}

TEST_CASE("a code that this librdkafka does not know is other") {
  CHECK(scope_of(30'000) == ErrorScope::other);
  CHECK(scope_of(-30'000) == ErrorScope::other);
  CHECK_FALSE(describe(30'000).empty());
}

TEST_CASE("a code is described by Kafka's name and text") {
  CHECK(describe(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE) == "MSG_SIZE_TOO_LARGE: Broker: Message size too large");
  CHECK(describe(RD_KAFKA_RESP_ERR__TRANSPORT) == "_TRANSPORT: Local: Broker transport failure");
}
