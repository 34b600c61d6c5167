#include "relay/cli/inbox_output.hpp"

#include <limits>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace txbox::relay {

namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

store::InboxGroup group() {
  store::InboxGroup group;
  group.group = "billing";
  group.claims = 7;
  group.newest_claim_at_ms = 1'700'000'000'123;
  group.given_up = 1;
  group.parked_messages = 2;
  group.suspects = 3;
  group.partitions = 4;
  group.in_hand = 1;
  group.updated_at_ms = 1'700'000'000'456;
  return group;
}

store::InboxClaimRow claim() {
  store::InboxClaimRow claim;
  claim.group = "billing";
  claim.event_id = "order-1";
  claim.topic = "orders";
  claim.partition = 2;
  claim.offset = 41;
  claim.cluster_id = "prod-1";
  claim.processed_at_ms = 1'700'000'000'123;
  return claim;
}

store::InboxParkedRow parked() {
  store::InboxParkedRow row;
  row.id = 9;
  row.group = "billing";
  row.topic = "orders";
  row.partition = 2;
  row.offset = 41;
  row.key = std::string_view("\xff\0", 2);
  row.attempts = 5;
  row.reason = "no \x1b[31mred";
  row.parked_at_ms = 1'700'000'000'123;
  row.payload = std::string_view("\0secret", 7);
  row.headers = R"([["id",null]])";
  return row;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// One line that no value could have broken, or made a terminal do something.
bool is_harmless_line(const std::string& text) {
  for (const char byte : text.substr(0, text.size() - 1)) {
    if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f) return false;
  }
  return !text.empty() && text.back() == '\n';
}

}  // namespace

TEST_CASE("a group as JSON has its numbers, and lists that are empty rather than missing") {
  CHECK(group_as_json(group()) ==
        R"({"group":"billing","claims":7,"claims_exact":true,"given_up":1,"newest_claim_at":1700000000123,"parked":2,)"
        R"("suspects":3,"partitions":4,"in_hand":1,"updated_at":1700000000456,"positions":[],"suspect_messages":[]})");
  store::InboxGroup plain;
  plain.group = "plain";
  const auto json = nlohmann::json::parse(group_as_json(plain));
  CHECK(json["newest_claim_at"] == nullptr);
  CHECK(json["updated_at"] == nullptr);
}

TEST_CASE("partitions and suspects are told whole, huge numbers and hostile names included") {
  store::InboxGroup hostile = group();
  hostile.partition_list.push_back({.cluster_id = std::nullopt,
                                    .topic = "or\nders\x1b",
                                    .partition = kHuge,
                                    .next_offset = kHuge,
                                    .clean = true,
                                    .reset_to = 3,
                                    .assignment = 4,
                                    .updated_at_ms = kHuge});
  hostile.suspect_list.push_back({.cluster_id = "\xff",
                                  .topic = "orders",
                                  .partition = 0,
                                  .offset = kHuge,
                                  .started = kHuge,
                                  .failed = kHuge,
                                  .last_error = "bad\x1b]0;title\x07",
                                  .next_try_at_ms = std::nullopt,
                                  .updated_at_ms = std::numeric_limits<std::int64_t>::min()});
  const auto json = nlohmann::json::parse(group_as_json(hostile));
  CHECK(json["positions"][0]["topic"] == "or\nders\x1b");
  CHECK(json["positions"][0]["next_offset"] == kHuge);
  CHECK(json["positions"][0]["cluster"] == nullptr);
  CHECK(json["positions"][0]["clean"] == true);
  CHECK(json["positions"][0]["reset_to"] == 3);
  CHECK(json["positions"][0]["assignment"] == 4);
  CHECK(json["suspect_messages"][0]["cluster"]["base64"] == "/w==");
  CHECK(json["suspect_messages"][0]["attempts"] == kHuge);
  CHECK(json["suspect_messages"][0]["last_error"] == "bad\x1b]0;title\x07");
  const std::string text = group_as_text(hostile);
  CHECK(contains(text, "or\\x0aders\\x1b"));
  CHECK(contains(text, "9223372036854775807 clean"));
  CHECK(contains(text, "bad\\x1b]0;title\\x07"));
  CHECK(contains(text, "and 3 more\n"));
  CHECK(contains(text, "and 2 more\n"));
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("a group's line says how far claims were counted") {
  CHECK(group_as_line(group()) ==
        "billing: claims 7, given up 1, parked 2, suspects 3, partitions 4 (1 in hand), updated "
        "2023-11-14T22:13:20.456Z\n");
  store::InboxGroup many = group();
  many.claims_exact = false;
  CHECK(contains(group_as_line(many), "claims over 7,"));
}

TEST_CASE("a claim says whether it was applied or given up, and where it came from if that is known") {
  CHECK(claim_as_json(claim()) ==
        R"({"group":"billing","event_id":"order-1","outcome":"applied","cluster":"prod-1","topic":"orders",)"
        R"("partition":2,"offset":41,"processed_at":1700000000123,"epoch":0})");
  CHECK(contains(claim_as_line(claim()), "applied"));
  store::InboxClaimRow plain;
  plain.group = "billing";
  plain.event_id = std::string(254, 'x') + "\n";
  plain.given_up = true;
  plain.processed_at_ms = 1'700'000'000'123;
  const auto json = nlohmann::json::parse(claim_as_json(plain));
  CHECK(json["outcome"] == "given_up");
  for (const char* name : {"cluster", "topic", "partition", "offset"}) CHECK(json[name] == nullptr);
  CHECK(contains(claim_as_line(plain), std::string(254, 'x') + "\\x0a given up"));
  CHECK(is_harmless_line(claim_as_line(plain)));
}

TEST_CASE("a parked message is shown without its payload unless that is asked for") {
  const auto json = nlohmann::json::parse(parked_as_json(parked(), false));
  CHECK(json["key"]["base64"] == "/wA=");
  CHECK(json["event_id"] == nullptr);
  CHECK(json["timestamp"] == nullptr);
  CHECK_FALSE(json.contains("payload"));
  CHECK_FALSE(json.contains("headers"));
  const auto whole = nlohmann::json::parse(parked_as_json(parked(), true));
  CHECK(whole["payload"] == std::string("\0secret", 7));
  CHECK(whole["headers"] == R"([["id",null]])");
  CHECK_FALSE(contains(parked_as_line(parked()), "secret"));
  CHECK(is_harmless_line(parked_as_line(parked())));
}

TEST_CASE("an event is told of from both boxes") {
  EventReport event{.event_id = "order-1", .row = std::nullopt, .inbox = {}};
  event.inbox.claims = {claim()};
  event.inbox.parked = {parked()};
  CHECK(
      event_as_text(event, false) ==
      "event_id:   order-1\n"
      "inbox:      billing applied it 2023-11-14T22:13:20.123Z from orders 2 at 41 of cluster prod-1\n"
      "inbox:      billing parked it 2023-11-14T22:13:20.123Z from orders 2 at 41 after 5 attempts: no \\x1b[31mred\n");
  CHECK(contains(event_as_text(event, true), "  payload:  \\x00secret\n"));
  auto json = nlohmann::json::parse(event_as_json(event, false));
  CHECK(json["event_id"] == "order-1");
  CHECK_FALSE(json.contains("topic"));
  CHECK(json["inbox"][0]["outcome"] == "applied");
  CHECK(json["inbox_parked"][0]["id"] == 9);

  event.row.emplace();
  event.row->id = 7;
  event.row->topic = "orders";
  event.row->payload = "{}";
  json = nlohmann::json::parse(event_as_json(event, false));
  CHECK(json["id"] == 7);
  CHECK(json["topic"] == "orders");
  CHECK_FALSE(json.contains("payload"));
  CHECK(json["inbox"].size() == 1);
  event.inbox = {};
  json = nlohmann::json::parse(event_as_json(event, true));
  CHECK(json["payload"] == "{}");
  CHECK(json["inbox"] == nlohmann::json::array());
  CHECK_FALSE(contains(event_as_text(event, false), "inbox"));
}

}  // namespace txbox::relay
