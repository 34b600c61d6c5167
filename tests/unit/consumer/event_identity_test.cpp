#include "libinbox/src/consumer/event_identity.hpp"

#include <array>
#include <set>
#include <string>

#include <doctest/doctest.h>

using txbox::Bytes;
using txbox::Headers;
using txbox::inbox::Message;
using txbox::inbox::consumer::event_id_in;
using txbox::inbox::consumer::event_id_of_place;
using txbox::inbox::consumer::kPlaceIdPrefix;

namespace {

const std::array<std::string, 1> kId{"id"};
const std::array<std::string, 2> kTwoNames{"id", "ce_id"};

Message at(const std::string& topic, std::int32_t partition, std::int64_t offset, std::int64_t timestamp_ms = 1000) {
  Message message;
  message.topic = topic;
  message.partition = partition;
  message.offset = offset;
  message.timestamp_ms = timestamp_ms;
  return message;
}

}  // namespace

TEST_CASE("the id header names the event") {
  const Headers headers{{"type", "OrderPlaced"}, {"id", "order-1"}};
  CHECK(event_id_in(headers, kId) == "order-1");
  const Headers of_bytes{{"id", Bytes("\xff\xfe")}};
  CHECK(event_id_in(of_bytes, kId) == "\xff\xfe");
  const Headers longest{{"id", std::string(255, 'x')}};
  CHECK(event_id_in(longest, kId) == std::string(255, 'x'));
}

TEST_CASE("a value that cannot name an event is as good as missing") {
  for (const Bytes& bad : {Bytes(), Bytes(""), Bytes(std::string(256, 'x')), Bytes(std::string("a\0b", 3))}) {
    const Headers headers{{"id", bad}};
    CHECK(event_id_in(headers, kId) == std::nullopt);
  }
  CHECK(event_id_in({}, kId) == std::nullopt);
  const Headers other_case{{"ID", "order-1"}};
  CHECK(event_id_in(other_case, kId) == std::nullopt);
}

TEST_CASE("an id twice is one id, two different ones are none") {
  const Headers same{{"id", "a"}, {"x", "y"}, {"id", "a"}};
  CHECK(event_id_in(same, kId) == "a");
  const Headers different{{"id", "a"}, {"id", "b"}};
  CHECK(event_id_in(different, kId) == std::nullopt);
  const Headers null_and_empty{{"id", "a"}, {"id", Bytes()}};
  CHECK(event_id_in(null_and_empty, kId) == std::nullopt);
}

TEST_CASE("of several names the first that is there decides, for good or bad") {
  const Headers both{{"ce_id", "b"}, {"id", "a"}};
  CHECK(event_id_in(both, kTwoNames) == "a");
  const Headers second{{"ce_id", "b"}};
  CHECK(event_id_in(second, kTwoNames) == "b");
  const Headers bad_first{{"id", ""}, {"ce_id", "b"}};
  CHECK(event_id_in(bad_first, kTwoNames) == std::nullopt);
}

TEST_CASE("ids of places differ wherever the records do") {
  const std::string longest(249, 't');
  std::set<std::string> ids;
  ids.insert(event_id_of_place("cluster", at("orders", 0, 1)));
  ids.insert(event_id_of_place("another", at("orders", 0, 1)));
  ids.insert(event_id_of_place("cluster", at("orders", 1, 0)));
  ids.insert(event_id_of_place("cluster", at("orders", 0, 11)));
  ids.insert(event_id_of_place("cluster", at("orders", 0, 1, 2000)));
  ids.insert(event_id_of_place("cluster", at(longest, 0, 1)));
  ids.insert(event_id_of_place("cluster", at(std::string(248, 't') + "u", 0, 1)));
  CHECK(ids.size() == 7);
  CHECK(event_id_of_place("cluster", at("orders", 0, 1)) == event_id_of_place("cluster", at("orders", 0, 1)));
}

TEST_CASE("the longest place makes an id that fits") {
  const std::string id = event_id_of_place(
      std::string(200, 'c'), at(std::string(249, 't'), 2147483647, 9223372036854775807, 9223372036854775807));
  CHECK(id.size() <= 255);
}

TEST_CASE("no header can take the id of a place") {
  const std::string id = event_id_of_place("cluster", at("orders", 0, 1));
  CHECK(id.starts_with(kPlaceIdPrefix));
  const Headers forged{{"id", id}};
  CHECK(event_id_in(forged, kId) == std::nullopt);
}
