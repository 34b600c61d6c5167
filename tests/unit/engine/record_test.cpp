#include "relay/engine/record.hpp"

#include <utility>

#include <doctest/doctest.h>

namespace txbox::relay {

namespace {

using Pair = std::pair<std::string, Bytes>;

store::OutboxRow row() {
  store::OutboxRow row;
  row.id = 1;
  row.nonce = std::string_view("\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23", 10);
  row.topic = "orders";
  row.created_at_ms = 1'700'000'000'123;
  return row;
}

std::vector<Pair> headers_of(const store::OutboxRow& row, const std::string& id_header = "id") {
  RecordHeaders headers(id_header);
  const auto views = headers.of(row);
  REQUIRE(views);
  std::vector<Pair> pairs;
  for (const kafka::HeaderView& view : *views) pairs.emplace_back(view.name, Bytes(view.value));
  return pairs;
}

}  // namespace

TEST_CASE("a row without headers carries its event id and when it was written") {
  const auto headers = headers_of(row());
  REQUIRE(headers.size() == 2);
  CHECK(headers[0] == Pair{"id", "018bcfe5-687b-7012-b456-789abcdef012"});
  CHECK(headers[1] == Pair{"txbox-created-at", "1700000000123"});
}

TEST_CASE("the application's event id is carried as it is, under the header that was configured") {
  store::OutboxRow named = row();
  named.event_id = "order-17";
  CHECK(headers_of(named, "event-id")[0] == Pair{"event-id", "order-17"});
}

TEST_CASE("own headers come first, in their order, with null, empty, repeated and binary values kept apart") {
  store::OutboxRow given = row();
  given.headers = std::string_view(R"([["a","1"],["a",null],["",""],["b",{"base64":"AAE="}]])");
  const auto headers = headers_of(given);
  REQUIRE(headers.size() == 6);
  CHECK(headers[0] == Pair{"a", "1"});
  CHECK(headers[1] == Pair{"a", nullptr});
  CHECK(headers[2] == Pair{"", ""});
  CHECK(headers[3] == Pair{"b", std::string_view("\0\1", 2)});
  CHECK(headers[4].first == "id");
}

TEST_CASE("a row that a person retried says so") {
  store::OutboxRow retried = row();
  retried.redriven = true;
  CHECK(headers_of(retried).back() == Pair{"txbox-redriven", "retry"});
}

TEST_CASE("a dead letter gets no header added") {
  store::OutboxRow letter = row();
  letter.as_is = true;
  letter.redriven = true;
  CHECK(headers_of(letter).empty());
  letter.headers = std::string_view(R"({"id":"order-17","txbox-created-at":"5"})");
  const auto headers = headers_of(letter);
  REQUIRE(headers.size() == 2);
  CHECK(headers[0] == Pair{"id", "order-17"});
}

TEST_CASE("a row whose id or headers cannot be made is no record") {
  RecordHeaders headers("id");
  store::OutboxRow bad = row();
  bad.headers = std::string_view("{not json");
  CHECK_FALSE(headers.of(bad));
  bad = row();
  bad.nonce = {};
  CHECK_FALSE(headers.of(bad));
  bad.event_id = "given";
  CHECK(headers.of(bad));
  bad = row();
  bad.created_at_ms = -1;
  CHECK_FALSE(headers.of(bad));
  bad.created_at_ms = std::int64_t{1} << 48;
  CHECK_FALSE(headers.of(bad));
}

TEST_CASE("one row's headers do not leak into the next") {
  RecordHeaders headers("id");
  store::OutboxRow first = row();
  first.headers = std::string_view(R"({"a":"1"})");
  REQUIRE(headers.of(first)->size() == 3);
  CHECK(headers.of(row())->size() == 2);
}

}  // namespace txbox::relay
