#include <string>

#include <doctest/doctest.h>

#include <txbox/store/headers_json.hpp>
#include <txbox/store/inbox_store.hpp>

#include "support/expect_error.hpp"
#include "support/inbox_database.hpp"

using txbox::Bytes;
using txbox::BytesView;
using txbox::ErrorCode;
using txbox::Headers;
using txbox::store::foreign_headers_from_json;
using txbox::test::code_of;
using txbox::test::InboxDatabase;
using ParkedMessage = txbox::store::InboxStore::ParkedMessage;

namespace {

/// All 256 bytes.
std::string every_byte() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  return bytes;
}

struct Parking : InboxDatabase {
  ParkedMessage message(std::int64_t offset) { return message(offset, none); }
  ParkedMessage message(std::int64_t offset, const Headers& headers) {
    return {.place = place,
            .offset = offset,
            .event_id = "e",
            .key = BytesView("k"),
            .payload = BytesView("p"),
            .headers = headers,
            .timestamp_ms = 1'700'000'000'000,
            .attempts = 5,
            .reason = "no such account"};
  }
  void park(const ParkedMessage& parked) {
    side.inbox.begin();
    side.inbox.park_message(parked);
    CHECK_FALSE(side.any_statement_busy());
    side.inbox.commit();
  }
  Headers none;
};

}  // namespace

TEST_CASE("a message is kept whole, with where it stood and why it was given up") {
  Parking file;
  file.park(file.message(7));
  CHECK(file.app.text("SELECT consumer_group || ' ' || topic || ' ' || partition || ' ' || offset || ' ' || event_id ||"
                      " ' ' || timestamp || ' ' || attempts || ' ' || reason FROM inbox_parked") ==
        "billing orders 3 7 e 1700000000000 5 no such account");
  CHECK(file.app.text("SELECT cluster_id FROM inbox_parked JOIN inbox_cluster ON number = cluster") == "c1");
  CHECK(file.app.number("SELECT abs(parked_at - strftime('%s', 'now') * 1000) < 60000 FROM inbox_parked") == 1);
  CHECK(file.app.number("SELECT headers IS NULL AND replayed_at IS NULL FROM inbox_parked") == 1);
}

TEST_CASE("null, empty and bytes stay three things, in key, payload, id and header") {
  Parking file;
  const std::string bytes = every_byte();
  const Bytes values[] = {Bytes(), Bytes(""), Bytes(bytes), Bytes("text")};
  std::int64_t offset = 0;
  for (const Bytes& key : values) {
    for (const Bytes& payload : values) {
      Headers headers;
      headers.add("value", payload);
      ParkedMessage message = file.message(offset, headers);
      message.key = key;
      message.payload = payload;
      message.timestamp_ms = -1;
      if (key.is_null()) message.event_id.reset();
      file.park(message);
      txbox::store::Statement read(
          file.app,
          "SELECT key, payload, headers, event_id FROM inbox_parked WHERE offset = " + std::to_string(offset));
      REQUIRE(read.step());
      CHECK(read.column_bytes(0) == BytesView(key));
      CHECK(read.column_bytes(1) == BytesView(payload));
      CHECK(foreign_headers_from_json(read.column_text(2)) == headers);
      CHECK(read.column_is_null(3) == key.is_null());
      ++offset;
    }
  }
  CHECK(file.app.number("SELECT count(*) FROM inbox_parked WHERE timestamp = -1") == 16);
}

TEST_CASE("headers that the outbox refuses are kept: any name, repeated, empty, reserved, any bytes") {
  Parking file;
  Headers headers;
  headers.add("id", "e");
  headers.add("txbox-created-at", "1");
  headers.add("id", Bytes());
  headers.add("", "");
  headers.add("\xff\xfe", "a name that is not UTF-8");
  headers.add(std::string("a\0b", 3), "a name with NUL");
  headers.add(every_byte(), Bytes(every_byte()));
  headers.add("quote\" back\\ line\n", "quote\" back\\ line\n");
  file.park(file.message(1, headers));
  const std::string json = file.app.text("SELECT headers FROM inbox_parked").value_or("");
  CHECK(foreign_headers_from_json(json) == headers);
  // SQL can read it as well.
  CHECK(file.app.number("SELECT json_valid(headers) AND json_array_length(headers) = 8 FROM inbox_parked") == 1);
  CHECK(file.app.text("SELECT json_extract(headers, '$[4][0].base64') FROM inbox_parked") == "//4=");
}

TEST_CASE("the same record parked again is one row with the newer reason, whose replay did not help") {
  Parking file;
  file.park(file.message(7));
  file.app.run("UPDATE inbox_parked SET replayed_at = 5, parked_at = 6");
  ParkedMessage again = file.message(7);
  again.reason = "still no such account";
  again.attempts = 9;
  file.park(again);
  CHECK(file.app.number("SELECT count(*) FROM inbox_parked") == 1);
  CHECK(file.app.text("SELECT reason || ' ' || attempts || ' ' || (replayed_at IS NULL) || ' ' || (parked_at > 6)"
                      " FROM inbox_parked") == "still no such account 9 1 1");
}

TEST_CASE("another record at the same place of a topic that was made anew is kept beside the first") {
  Parking file;
  file.park(file.message(7));
  ParkedMessage other = file.message(7);
  other.timestamp_ms += 1;
  other.payload = BytesView("another");
  file.park(other);
  CHECK(file.app.text("SELECT group_concat(CAST(payload AS TEXT)) FROM inbox_parked") == "p,another");
}

TEST_CASE("a parked message is as large as SQLite allows, and refused above it with the batch alive") {
  Parking file;
  const std::string large(3'000'000, 'x');
  ParkedMessage message = file.message(1);
  message.payload = BytesView(large);
  file.park(message);
  CHECK(file.app.number("SELECT length(payload) FROM inbox_parked") == 3'000'000);

  sqlite3_limit(file.side.connection.handle(), SQLITE_LIMIT_LENGTH, 1'000'000);
  auto& inbox = file.side.inbox;
  inbox.begin();
  ParkedMessage above = file.message(2);
  above.payload = BytesView(large);
  CHECK(code_of([&] { inbox.park_message(above); }) == ErrorCode::refused);
  CHECK(inbox.transaction_open());
  CHECK_FALSE(file.side.any_statement_busy());
  inbox.park_message(file.message(3));
  inbox.commit();
  CHECK(file.app.text("SELECT group_concat(offset) FROM inbox_parked") == "1,3");
}

TEST_CASE("a message is parked with its batch, or not at all") {
  Parking file;
  CHECK(code_of([&] { file.side.inbox.park_message(file.message(1)); }) == ErrorCode::no_transaction);
  file.side.inbox.begin();
  file.side.inbox.savepoint();
  file.side.inbox.park_message(file.message(1));
  file.side.inbox.roll_back_to_savepoint();
  file.side.inbox.park_message(file.message(2));
  file.side.inbox.commit();
  CHECK(file.app.text("SELECT group_concat(offset) FROM inbox_parked") == "2");
}

TEST_CASE("foreign headers are read as strictly as others") {
  for (const char* text :
       {"", "[[1,\"v\"]]", "[[{},\"v\"]]", "[[{\"base64\":1},\"v\"]]", "[[{\"base64\":\"A\"},null]]",
        "[[{\"base64\":\"AA==\",\"x\":1},null]]", "[[[\"n\"],null]]", "[[null,null]]", "[[{\"hex\":\"00\"},null]]"}) {
    CAPTURE(text);
    CHECK(code_of([&] { (void)foreign_headers_from_json(text); }) == ErrorCode::invalid_argument);
  }
  CHECK(code_of([] { (void)txbox::store::headers_from_json(R"([[{"base64":"AA=="},null]])"); }) ==
        ErrorCode::invalid_argument);
  CHECK(txbox::store::foreign_headers_to_json({}) == "[]");
  CHECK(foreign_headers_from_json("[]").empty());
  CHECK(foreign_headers_from_json(R"({"a":"b"})") == Headers{{"a", "b"}});
}
