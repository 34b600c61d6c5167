#include "libinbox/src/consumer/message_store.hpp"

#include <string>
#include <utility>

#include <doctest/doctest.h>

using txbox::Bytes;
using txbox::inbox::Message;
using txbox::inbox::consumer::bytes_of;
using txbox::inbox::consumer::MessageStore;
using txbox::inbox::consumer::Place;

namespace {

const Place kHere{"orders", 0};
const Place kThere{"orders", 1};

Message at(std::int64_t offset, const char* payload = "p") {
  Message message;
  message.topic = "orders";
  message.offset = offset;
  message.payload = payload;
  return message;
}

void add(MessageStore& store, const Place& place, Message message) {
  store.spare() = std::move(message);
  store.add_spare(place);
}

}  // namespace

TEST_CASE("a message is found by its place and offset until it is forgotten") {
  MessageStore store;
  add(store, kHere, at(5, "five"));
  add(store, kHere, at(9, "nine"));  // Offsets have gaps.
  add(store, kThere, at(5, "other"));
  CHECK(store.at(kHere, 5).payload == Bytes("five"));
  CHECK(store.at(kHere, 9).payload == Bytes("nine"));
  CHECK(store.at(kThere, 5).payload == Bytes("other"));
  store.forget(kHere, 5);
  store.forget(kHere, 7);
  CHECK(store.at(kHere, 9).payload == Bytes("nine"));
  CHECK(store.at(kThere, 5).payload == Bytes("other"));
  store.forget_all();
  add(store, kHere, at(1, "again"));
  CHECK(store.at(kHere, 1).payload == Bytes("again"));
}

TEST_CASE("messages that come once more are kept once") {
  MessageStore store;
  for (const std::int64_t offset : {3, 4, 3, 2, 4}) add(store, kHere, at(offset, offset == 2 ? "late" : "first"));
  CHECK(store.at(kHere, 2).payload == Bytes("late"));
  CHECK(store.at(kHere, 3).payload == Bytes("first"));
  store.forget(kHere, 3);
  CHECK(store.at(kHere, 4).payload == Bytes("first"));
}

TEST_CASE("a forgotten message's memory is used again, unless it is much") {
  MessageStore store;
  add(store, kHere, at(1));
  const Message* small = &store.at(kHere, 1);
  add(store, kHere, at(2, std::string(100'000, 'x').c_str()));
  store.forget(kHere, 1);
  store.forget(kHere, 2);
  CHECK(&store.spare() == small);
  CHECK(&store.spare() == small);
  add(store, kHere, at(3, "three"));
  CHECK(&store.at(kHere, 3) == small);
  CHECK(store.spare().payload.size() < 100'000);
}

TEST_CASE("what a message weighs counts everything that it carries") {
  Message message = at(1, "12345");
  const std::size_t before = bytes_of(message);
  message.headers = {{"name", "value"}};
  CHECK(bytes_of(message) >= before + 9);
}
