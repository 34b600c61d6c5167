#include <string>

#include <doctest/doctest.h>

#include <txbox/outbox/outbox.hpp>

#include "support/app_database.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

using txbox::Bytes;
using txbox::ErrorCode;
using txbox::NextStep;
using txbox::outbox::Event;
using txbox::outbox::install;
using txbox::outbox::Outbox;
using txbox::test::AppDatabase;
using txbox::test::error_of;
using txbox::test::TempDir;

namespace {

struct Shop {
  TempDir dir;
  AppDatabase app{dir.file("shop.db")};
  Shop() {
    app.run("CREATE TABLE orders(id INTEGER PRIMARY KEY, account TEXT)");
    install(app);
  }
};

/// The error of adding `event` in an open transaction, which must still be there afterwards.
txbox::Error refused_add(Shop& shop, const Event& event) {
  Outbox outbox(shop.app);
  shop.app.run("BEGIN IMMEDIATE; INSERT INTO orders(account) VALUES ('before')");
  const auto error = error_of([&] { outbox.add(event); });
  REQUIRE(error.has_value());
  CHECK(error->transaction_alive());
  CHECK(error->next_step() == NextStep::fix_first);
  CHECK_FALSE(shop.app.any_statement_busy());
  outbox.add({.topic = "orders", .payload = "good"});
  shop.app.run("COMMIT");
  CHECK(shop.app.number("SELECT count(*) FROM orders") == 1);
  CHECK(shop.app.number("SELECT count(*) FROM outbox") == 1);
  return *error;
}

}  // namespace

TEST_CASE("an event is there if and only if its transaction committed") {
  Shop shop;
  Outbox outbox(shop.app);
  shop.app.run("BEGIN IMMEDIATE; INSERT INTO orders(account) VALUES ('a')");
  outbox.add({.topic = "orders", .key = "a", .payload = "1"});
  shop.app.run("ROLLBACK");
  CHECK(shop.app.number("SELECT count(*) FROM outbox") == 0);
  shop.app.run("BEGIN IMMEDIATE; INSERT INTO orders(account) VALUES ('a')");
  outbox.add({.topic = "orders", .key = "a", .payload = "2"});
  shop.app.run("COMMIT");
  CHECK(shop.app.number("SELECT count(*) FROM orders") == 1);
  CHECK(shop.app.text("SELECT payload FROM outbox") == "2");
}

TEST_CASE("the event id that add returns is the one that the view shows") {
  Shop shop;
  Outbox outbox(shop.app);
  for (int round = 0; round < 200; ++round) {
    shop.app.run("BEGIN");
    const std::string id = outbox.add({.topic = "orders"});
    shop.app.run("COMMIT");
    CHECK(shop.app.text("SELECT event_id FROM outbox_status ORDER BY id DESC LIMIT 1") == id);
  }
  CHECK(shop.app.number("SELECT count(DISTINCT event_id) FROM outbox_status") == 200);
  shop.app.run("BEGIN");
  CHECK(outbox.add({.topic = "orders", .event_id = "order-1-placed"}) == "order-1-placed");
  shop.app.run("COMMIT");
  CHECK(shop.app.text("SELECT event_id FROM outbox_status ORDER BY id DESC LIMIT 1") == "order-1-placed");
}

TEST_CASE("key and payload keep null, empty and bytes apart, and text is text") {
  Shop shop;
  Outbox outbox(shop.app);
  const std::string nul("a\0b", 3);
  shop.app.run("BEGIN");
  outbox.add({.topic = "t", .key = nullptr, .payload = ""});
  outbox.add({.topic = "t", .key = "", .payload = nullptr});
  outbox.add({.topic = "t", .key = "\xc3\xa9", .payload = "\xff\xfe"});
  outbox.add({.topic = "t", .key = nul, .payload = std::string(900'000, 'x')});
  shop.app.run("COMMIT");
  CHECK(shop.app.text("SELECT group_concat(typeof(key) || ' ' || typeof(payload), ',') FROM outbox") ==
        "null text,text null,text blob,blob text");
  CHECK(shop.app.text("SELECT key FROM outbox WHERE id = 4") == nul);
  CHECK(shop.app.text("SELECT payload FROM outbox WHERE id = 3") == "\xff\xfe");
  CHECK(shop.app.number("SELECT length(payload) FROM outbox WHERE id = 4") == 900'000);
}

TEST_CASE("every field of an event reaches its column") {
  Shop shop;
  Outbox outbox(shop.app);
  shop.app.run("BEGIN");
  outbox.add({.topic = "t",
              .partition = 3,
              .headers = {{"type", "OrderPlaced"}, {"none", nullptr}},
              .deliver_at_ms = 1'800'000'000'000});
  outbox.add({.topic = "t", .headers = {{"b", "\xff"}}});
  outbox.add({.topic = "t"});
  shop.app.run("COMMIT");
  CHECK(shop.app.number("SELECT partition FROM outbox WHERE id = 1") == 3);
  CHECK(shop.app.text("SELECT headers FROM outbox WHERE id = 1") == R"({"type":"OrderPlaced","none":null})");
  CHECK(shop.app.number("SELECT deliver_at FROM outbox WHERE id = 1") == 1'800'000'000'000);
  CHECK(shop.app.text("SELECT headers FROM outbox WHERE id = 2") == R"([["b",{"base64":"/w=="}]])");
  CHECK(shop.app.number("SELECT headers IS NULL AND partition IS NULL AND deliver_at IS NULL AND as_is = 0 FROM outbox "
                        "WHERE id = 3") == 1);
  CHECK(shop.app.number("SELECT abs(created_at - strftime('%s','now') * 1000) < 60000 FROM outbox WHERE id = 1") == 1);
}

TEST_CASE("outside a transaction nothing is added") {
  Shop shop;
  Outbox outbox(shop.app);
  const auto error = error_of([&] { outbox.add({.topic = "t"}); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::no_transaction);
  CHECK_FALSE(error->transaction_alive());
  CHECK(std::string(error->what()).find("BEGIN IMMEDIATE") != std::string::npos);
  CHECK(shop.app.number("SELECT count(*) FROM outbox") == 0);
}

TEST_CASE("what the guards refuse is refused with their words, and the transaction goes on") {
  const std::pair<Event, const char*> bad[] = {
      {{.topic = ""}, "topic"},
      {{.topic = "a b"}, "topic"},
      {{.topic = ".."}, "topic"},
      {{.topic = std::string("a\0b", 3)}, "topic"},
      {{.topic = std::string(250, 'a')}, "topic"},
      {{.topic = "t", .partition = -1}, "partition"},
      {{.topic = "t", .payload = std::string(2'000'000, 'x')}, "too large"},
      {{.topic = "t", .event_id = std::string(256, 'x')}, "event_id"},
      {{.topic = "t", .event_id = std::string("a\0b", 3)}, "event_id"},
      {{.topic = "t", .deliver_at_ms = 1'800'000'000}, "deliver_at"},
      {{.topic = "t", .deliver_at_ms = 1'800'000'000'000'000}, "deliver_at"},
  };
  for (const auto& [event, word] : bad) {
    CAPTURE(word);
    Shop shop;
    const auto error = refused_add(shop, event);
    CHECK(error.code() == ErrorCode::refused);
    const std::string text = error.what();
    CHECK(text.find("txbox: ") != std::string::npos);
    CHECK(text.find(word) != std::string::npos);
  }
}

TEST_CASE("headers that may not be are an invalid argument, and the transaction goes on") {
  for (const char* name : {"id", "txbox-created-at", "\xff"}) {
    Shop shop;
    CHECK(refused_add(shop, {.topic = "t", .headers = {{name, "x"}}}).code() == ErrorCode::invalid_argument);
  }
}

TEST_CASE("an event id that is there already is refused") {
  Shop shop;
  Outbox outbox(shop.app);
  shop.app.run("BEGIN");
  outbox.add({.topic = "t", .event_id = "one"});
  const auto error = error_of([&] { outbox.add({.topic = "t", .event_id = "one"}); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::refused);
  CHECK(std::string(error->what()).find("already there") != std::string::npos);
  shop.app.run("COMMIT");
  CHECK(shop.app.number("SELECT count(*) FROM outbox") == 1);
}

TEST_CASE("no error text holds a key, a payload or a header value") {
  Shop shop;
  const auto error = refused_add(
      shop,
      {.topic = "bad topic", .key = "secret-key", .payload = "secret-payload", .headers = {{"h", "secret-value"}}});
  CHECK(std::string(error.what()).find("secret") == std::string::npos);
}

TEST_CASE("a stale snapshot has a code of its own and says that only a new transaction helps") {
  Shop shop;
  Outbox outbox(shop.app);
  AppDatabase other(shop.dir.file("shop.db"));
  sqlite3_busy_timeout(shop.app, 60'000);
  shop.app.run("BEGIN");
  CHECK(shop.app.number("SELECT count(*) FROM orders") == 0);
  other.run("INSERT INTO orders(account) VALUES ('other')");
  const auto error = error_of([&] { outbox.add({.topic = "t"}); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::stale_snapshot);
  CHECK(error->next_step() == NextStep::retry_transaction);
  CHECK(error->transaction_alive());
  CHECK_FALSE(shop.app.any_statement_busy());
  shop.app.run("ROLLBACK; BEGIN IMMEDIATE");
  outbox.add({.topic = "t"});
  shop.app.run("COMMIT");
  CHECK(shop.app.number("SELECT count(*) FROM outbox") == 1);
}

TEST_CASE("a lock that another connection holds is busy, and the same call works later") {
  Shop shop;
  Outbox outbox(shop.app);
  AppDatabase other(shop.dir.file("shop.db"));
  other.run("BEGIN IMMEDIATE");
  shop.app.run("BEGIN");
  const auto error = error_of([&] { outbox.add({.topic = "t"}); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::busy);
  CHECK(error->transaction_alive());
  CHECK_FALSE(shop.app.any_statement_busy());
  other.run("ROLLBACK");
  outbox.add({.topic = "t"});
  shop.app.run("COMMIT");
  CHECK(shop.app.number("SELECT count(*) FROM outbox") == 1);
}

TEST_CASE("a full disk says whether the transaction is still alive, and adds nothing") {
  Shop shop;
  Outbox outbox(shop.app);
  const auto pages = shop.app.number("PRAGMA page_count");
  shop.app.run("PRAGMA max_page_count=" + std::to_string(pages + 8));
  shop.app.run("BEGIN IMMEDIATE; INSERT INTO orders(account) VALUES ('a')");
  const auto error = error_of([&] {
    for (int round = 0; round < 100; ++round) outbox.add({.topic = "t", .payload = std::string(20'000, 'x')});
  });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::disk_full);
  CHECK(error->transaction_alive() == (sqlite3_get_autocommit(shop.app) == 0));
  CHECK_FALSE(shop.app.any_statement_busy());
  if (error->transaction_alive()) shop.app.run("ROLLBACK");
  CHECK(shop.app.number("SELECT count(*) FROM outbox") == 0);
  CHECK(shop.app.number("SELECT count(*) FROM orders") == 0);
}

TEST_CASE("a file without tables is not installed, and without WAL it cannot be") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  CHECK(error_of([&] { Outbox{app}; })->code() == ErrorCode::not_installed);
  AppDatabase plain(dir.file("b.db"), false);
  CHECK(error_of([&] { install(plain); })->code() == ErrorCode::not_wal);
}

TEST_CASE("an outbox that is only in an attached file is refused") {
  const TempDir dir;
  {
    AppDatabase boxes(dir.file("boxes.db"));
    install(boxes);
  }
  AppDatabase app(dir.file("main.db"));
  app.run("ATTACH '" + dir.file("boxes.db") + "' AS \"my \"\" boxes\"");
  const auto error = error_of([&] { Outbox{app}; });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::attached_database);
  CHECK(std::string(error->what()).find("my \" boxes") != std::string::npos);
}

TEST_CASE("a TEMP table of the same name does not catch the event, and the guards see the main table") {
  Shop shop;
  shop.app.run("CREATE TEMP TABLE outbox AS SELECT * FROM main.outbox; CREATE TEMP TABLE outbox_sent(x)");
  Outbox outbox(shop.app);
  shop.app.run("BEGIN");
  outbox.add({.topic = "t", .event_id = "one"});
  CHECK(error_of([&] { outbox.add({.topic = "t", .event_id = "one"}); })->code() == ErrorCode::refused);
  CHECK(error_of([&] { outbox.add({.topic = "t t"}); })->code() == ErrorCode::refused);
  outbox.add({.topic = "t"});
  shop.app.run("COMMIT");
  CHECK(shop.app.number("SELECT count(*) FROM main.outbox") == 2);
  CHECK(shop.app.number("SELECT count(*) FROM temp.outbox") == 0);
}

TEST_CASE("add works inside savepoints, and a savepoint that is rolled back takes its event with it") {
  Shop shop;
  Outbox outbox(shop.app);
  shop.app.run("SAVEPOINT one");
  outbox.add({.topic = "kept"});
  shop.app.run("SAVEPOINT two");
  outbox.add({.topic = "dropped"});
  shop.app.run("ROLLBACK TO two; RELEASE one");
  CHECK(shop.app.text("SELECT group_concat(topic) FROM outbox") == "kept");
  shop.app.run("BEGIN");
  outbox.add({.topic = "next"});
  shop.app.run("COMMIT");
  CHECK(shop.app.text("SELECT group_concat(id) FROM outbox") == "1,2");
}
