#include "libinbox/src/consumer/dead_letter.hpp"

#include <string>

#include <doctest/doctest.h>

using txbox::Bytes;
using txbox::Headers;
using txbox::inbox::Message;
using txbox::inbox::consumer::dead_letter_headers;
using txbox::inbox::consumer::dead_letter_topic;
using txbox::inbox::consumer::was_dead_letter;

TEST_CASE("a dead letter keeps every header it came with and says where from") {
  Message message;
  message.topic = "orders";
  message.partition = 3;
  message.offset = 42;
  message.headers = {{"x", "1"}, {"id", "order-1"}, {"x", Bytes()}, {"", ""}, {"txbox-created-at", "5"}};
  const Headers headers = dead_letter_headers(
      message, {.group = "billing", .reason = "no such account", .attempts = 5, .now_ms = 1'700'000'000'000});
  CHECK(headers == Headers{{"x", "1"},
                           {"id", "order-1"},
                           {"x", Bytes()},
                           {"", ""},
                           {"txbox-created-at", "5"},
                           {"__dlq.errors.topic", "orders"},
                           {"__dlq.errors.partition", "3"},
                           {"__dlq.errors.offset", "42"},
                           {"__dlq.errors.message", "no such account"},
                           {"__dlq.errors.attempts", "5"},
                           {"__dlq.errors.group", "billing"},
                           {"__dlq.errors.time", "1700000000000"}});
  CHECK(dead_letter_topic("orders") == "orders.dlq");
}

TEST_CASE("twenty rounds of failing and being sent back do not grow it") {
  Message message;
  message.topic = "orders";
  message.headers = {{"id", "order-1"}, {"a", "b"}};
  CHECK_FALSE(was_dead_letter(message.headers));
  std::size_t size = 0;
  for (int round = 0; round < 20; ++round) {
    message.offset = round;
    message.headers = dead_letter_headers(message, {.group = "billing", .reason = "round " + std::to_string(round)});
    if (round == 0) size = message.headers.size();
    CHECK(message.headers.size() == size);
    CHECK(was_dead_letter(message.headers));
  }
  CHECK(message.headers.last("__dlq.errors.message")->value == Bytes("round 19"));
  CHECK(message.headers.last("__dlq.errors.offset")->value == Bytes("19"));
  CHECK(message.headers.begin()->name == "id");
}
