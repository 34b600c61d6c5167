#include <string>

#include <doctest/doctest.h>

#include <txbox/store/schema.hpp>

#include "support/app_database.hpp"
#include "support/temp_dir.hpp"

// What needs a connection that plain SQL cannot make: retention, and writers whose triggers are off. The refusals
// themselves are tried in tests/contract, under every conflict clause.

using txbox::test::AppDatabase;
using txbox::test::TempDir;

namespace {

struct Boxes {
  TempDir dir;
  AppDatabase app{dir.file("a.db")};
  Boxes() { txbox::store::install(app, {}); }
  void triggers(bool on) {
    REQUIRE(sqlite3_db_config(app, SQLITE_DBCONFIG_ENABLE_TRIGGER, on ? 1 : 0, nullptr) == SQLITE_OK);
  }
  void add(int rows) {
    for (int row = 0; row < rows; ++row) app.run("INSERT INTO outbox(topic) VALUES ('t')");
  }
};

/// How SQLite would run it.
std::string plan(AppDatabase& app, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(app, ("EXPLAIN QUERY PLAN " + sql).c_str(), -1, &statement, nullptr) == SQLITE_OK);
  std::string text;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    text += reinterpret_cast<const char*>(sqlite3_column_text(statement, 3));
    text += '\n';
  }
  sqlite3_finalize(statement);
  return text;
}

}  // namespace

TEST_CASE("after retention ids go on from the newest row, and no id in the gap is taken") {
  Boxes boxes;
  boxes.add(10);
  boxes.triggers(false);
  boxes.app.run("DELETE FROM outbox WHERE id < 10 AND id <> 4");
  boxes.triggers(true);
  // 5 has a predecessor and 10 is the newest: neither alone makes an id the next one.
  for (const char* id : {"5", "9", "1", "0", "-1", "-2"}) {
    for (const char* clause : {"INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE"}) {
      const std::string error =
          boxes.app.attempt(std::string(clause) + " INTO outbox(id, topic) VALUES (" + id + ", 't')");
      CHECK(error.find("txbox: never set id yourself") == 0);
    }
  }
  boxes.add(1);
  CHECK(boxes.app.text("SELECT group_concat(id) FROM outbox") == "4,10,11");
}

TEST_CASE("where a BEFORE trigger is lost, an id of one's own is still refused after the insert") {
  Boxes boxes;
  boxes.add(3);
  boxes.triggers(false);
  boxes.app.run("DELETE FROM outbox WHERE id = 2");
  boxes.triggers(true);
  boxes.app.run("DROP TRIGGER outbox_guard");
  for (const char* id : {"2", "5", "-1", "9223372036854775807"}) {
    CHECK(boxes.app.attempt(std::string("INSERT OR IGNORE INTO outbox(id, topic) VALUES (") + id + ", 't')")
              .find("txbox: ") == 0);
  }
  CHECK(boxes.app.text("SELECT group_concat(id) FROM outbox") == "1,3");
}

TEST_CASE("CHECK, NOT NULL and UNIQUE stand behind the guards where triggers are off") {
  Boxes boxes;
  boxes.app.run("INSERT INTO outbox(topic, event_id) VALUES ('t', 'taken')");
  boxes.triggers(false);
  for (const char* values : {
           "(topic) VALUES (NULL)",
           "(topic) VALUES ('')",
           "(topic) VALUES (x'6f')",
           "(topic, event_id) VALUES ('t', 'taken')",
           "(topic, event_id) VALUES ('t', '')",
           "(topic, event_id) VALUES ('t', x'78')",
           "(topic, nonce) VALUES ('t', NULL)",
           "(topic, nonce) VALUES ('t', x'00')",
           "(topic, partition) VALUES ('t', -1)",
           "(topic, created_at) VALUES ('t', 1700000000)",
           "(topic, created_at) VALUES ('t', 'now')",
           "(topic, deliver_at) VALUES ('t', '2026-01-01')",
           "(topic, as_is) VALUES ('t', 2)",
       }) {
    CAPTURE(values);
    CHECK_FALSE(boxes.app.attempt(std::string("INSERT INTO outbox") + values).empty());
  }
  for (const char* values : {"('g', NULL)", "('g', '')", "(NULL, 'e')", "('g', x'78')"}) {
    CHECK_FALSE(boxes.app.attempt(std::string("INSERT INTO inbox(consumer_group, event_id) VALUES ") + values).empty());
  }
  CHECK(boxes.app.number("SELECT count(*) FROM outbox") == 1);
}

TEST_CASE("parked is 0 or 1, with triggers and without") {
  Boxes boxes;
  for (const bool triggers : {true, false}) {
    boxes.triggers(triggers);
    for (const char* parked : {"2", "-1", "NULL", "'yes'", "0.5", "x'01'"}) {
      CAPTURE(parked);
      const std::string error = boxes.app.attempt(
          std::string("INSERT INTO inbox(consumer_group, event_id, parked) VALUES ('g', 'e', ") + parked + ")");
      CHECK_FALSE(error.empty());
      if (triggers) CHECK(error.find("txbox: parked must be 0 or 1") == 0);
    }
  }
  boxes.triggers(true);
  for (const char* parked : {"2", "NULL"}) {
    CHECK(boxes.app
              .attempt(std::string("INSERT OR IGNORE INTO inbox(consumer_group, event_id, parked) VALUES ('g', 'e', ") +
                       parked + ")")
              .find("txbox: ") == 0);
  }
  boxes.app.run("INSERT INTO inbox(consumer_group, event_id) VALUES ('g', 'e')");
  CHECK(boxes.app.number("SELECT parked FROM inbox") == 0);
}

TEST_CASE("how many events were given up is counted by an index of them alone") {
  Boxes boxes;
  const std::string steps =
      plan(boxes.app, "SELECT count(*) FROM inbox INDEXED BY inbox_given_up WHERE consumer_group = 'g' AND parked = 1");
  CHECK(steps.find("SEARCH inbox USING") == 0);
}

TEST_CASE("the relay's tables hold only what they are for") {
  Boxes boxes;
  CHECK_FALSE(
      boxes.app.attempt("INSERT INTO outbox_held(id, nonce, state) VALUES (1, x'0000000000000000', 'sent')").empty());
  CHECK_FALSE(boxes.app.attempt("INSERT INTO outbox_held(id, nonce, state) VALUES (1, x'00', 'parked')").empty());
  CHECK_FALSE(
      boxes.app
          .attempt(
              "INSERT INTO outbox_sent(id, nonce, cluster, partition, offset, sent_at) VALUES (1, x'00', 1, 0, 0, 0)")
          .empty());
  CHECK_FALSE(boxes.app.attempt("INSERT INTO outbox_progress(settled_through) VALUES (5)").empty());
  CHECK_FALSE(boxes.app.attempt("INSERT INTO outbox_progress(one, settled_through) VALUES (2, 5)").empty());
  CHECK(boxes.app.text("SELECT settled_through || ',' || pruned_through FROM outbox_progress") == "0,0");
}

TEST_CASE("what the guards look up they find by an index") {
  Boxes boxes;
  for (const char* sql : {"SELECT 1 FROM outbox WHERE event_id = ?1", "SELECT 1 FROM outbox WHERE id = ?1 - 1"}) {
    CHECK(plan(boxes.app, sql).find("SEARCH") != std::string::npos);
  }
  CHECK(plan(boxes.app, "SELECT max(id) FROM outbox").find("SEARCH") != std::string::npos);
  CHECK(plan(boxes.app, "SELECT nonce FROM outbox ORDER BY id DESC LIMIT 1").find("TEMP B-TREE") == std::string::npos);
}

TEST_CASE("the events of one transaction keep their order whatever the clock does") {
  Boxes boxes;
  boxes.app.run("BEGIN IMMEDIATE");
  for (int row = 0; row < 1000; ++row) {
    boxes.app.run("INSERT INTO outbox(topic, key, payload, created_at) VALUES ('t', 'k', " + std::to_string(row) +
                  ", " + std::to_string(1'790'000'000'000 - row % 7 * 3'600'000LL) + ")");
  }
  boxes.app.run("COMMIT");
  CHECK(boxes.app.number("SELECT count(*) FROM outbox WHERE id = CAST(payload AS INTEGER) + 1") == 1000);
}
