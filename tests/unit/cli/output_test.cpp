#include "relay/cli/output.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace txbox::relay {

namespace {
store::StatusRow row() {
  store::StatusRow row;
  row.id = 7;
  row.event_id = "01890000-0000-7000-8000-000000000000";
  row.topic = "orders";
  row.key = "A1";
  row.state = "sent";
  row.attempts = 1;
  row.partition = 2;
  row.offset = 40;
  row.created_at_ms = 1'700'000'000'123;
  row.sent_at_ms = 1'700'000'000'456;
  row.payload = "{}";
  row.headers = R"({"type":"OrderPlaced"})";
  return row;
}
}  // namespace

TEST_CASE("a row as JSON has the fields of outbox_status in their order") {
  CHECK(row_as_json(row(), false, false) ==
        R"({"id":7,"event_id":"01890000-0000-7000-8000-000000000000","topic":"orders","key":"A1","state":"sent",)"
        R"("attempts":1,"due_at":null,"last_error":null,"partition":2,"offset":40,"created_at":1700000000123,)"
        R"("sent_at":1700000000456})");
}

TEST_CASE("headers and payload are shown only where asked for") {
  const auto json = nlohmann::json::parse(row_as_json(row(), true, true));
  CHECK(json["payload"] == "{}");
  CHECK(json["headers"] == R"({"type":"OrderPlaced"})");
  CHECK(row_as_text(row(), false).find("payload") == std::string::npos);
  CHECK(row_as_text(row(), true).find("payload:") != std::string::npos);
}

TEST_CASE("bytes that are not UTF-8 become base64, and null, empty and text stay apart") {
  store::StatusRow bytes = row();
  const auto key_of = [&bytes] { return nlohmann::json::parse(row_as_json(bytes, false, false))["key"]; };
  bytes.key = std::string_view("\xff\x00\x01", 3);
  CHECK(key_of() == nlohmann::json{{"base64", "/wAB"}});
  bytes.key = nullptr;
  CHECK(key_of() == nullptr);
  bytes.key = "";
  CHECK(key_of() == "");
  bytes.key = std::string_view("a\0b", 3);
  CHECK(key_of() == std::string("a\0b", 3));
}

TEST_CASE("text columns of a damaged file do not break the JSON") {
  store::StatusRow damaged = row();
  damaged.topic = "\xc3\x28";
  damaged.event_id = "\xed\xa0\x80";
  damaged.last_error = "MSG_SIZE_TOO_LARGE: \xff";
  const auto json = nlohmann::json::parse(row_as_json(damaged, false, false));
  CHECK(json["topic"].contains("base64"));
  CHECK(json["event_id"].contains("base64"));
  CHECK(json["last_error"].contains("base64"));
}

TEST_CASE("no key can drive a terminal") {
  CHECK(printable("A1 \xc3\xa9") == "A1 \xc3\xa9");
  CHECK(printable("\x1b[2J\n\x7f") == "\\x1b[2J\\x0a\\x7f");
  CHECK(printable("\xc2\x9b\xff") == "\\xc2\\x9b\\xff");
}

TEST_CASE("JSON is safe on a terminal too, and says the same") {
  store::StatusRow hostile = row();
  hostile.key =
      "\x1b[2J\x7f\xc2\x9b"
      "2J \xc2\xa0 \xc3\x9b \\u009b \"";
  hostile.event_id = "\xc2\x80";
  const std::string text = row_as_json(hostile, false, false);
  CHECK(text.find('\x7f') == std::string::npos);
  CHECK(text.find("\xc2\x9b") == std::string::npos);
  CHECK(text.find("\xc2\xa0 \xc3\x9b") != std::string::npos);
  const auto json = nlohmann::json::parse(text);
  CHECK(Bytes(json["key"].get<std::string>()) == hostile.key);
  CHECK(json["event_id"] == hostile.event_id);
}

TEST_CASE("times are ISO 8601 in UTC") {
  CHECK(to_iso_time(0) == "1970-01-01T00:00:00.000Z");
  CHECK(to_iso_time(1'700'000'000'123) == "2023-11-14T22:13:20.123Z");
  CHECK(to_iso_time(-1) == "1969-12-31T23:59:59.999Z");
}

}  // namespace txbox::relay
