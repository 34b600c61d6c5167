#include <string>

#include <doctest/doctest.h>

#include <txbox/store/connection.hpp>
#include <txbox/store/schema.hpp>

#include "support/app_database.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

using txbox::ErrorCode;
using txbox::store::install;
using txbox::store::verify_outbox_schema;
using txbox::test::AppDatabase;
using txbox::test::error_of;
using txbox::test::TempDir;

TEST_CASE("every altered or missing object is found by name, and init puts back all but tables") {
  struct Damage {
    const char* sql;
    const char* name;
  };
  const Damage damages[] = {
      {"DROP TRIGGER outbox_guard", "outbox_guard"},
      {"DROP TRIGGER outbox_headers; CREATE TRIGGER outbox_headers BEFORE INSERT ON outbox BEGIN SELECT 1; END",
       "outbox_headers"},
      {"DROP TRIGGER outbox_order", "outbox_order"},
      {"DROP TRIGGER outbox_no_update", "outbox_no_update"},
      {"DROP TRIGGER outbox_no_delete", "outbox_no_delete"},
      {"DROP INDEX outbox_event_id; CREATE INDEX outbox_event_id ON outbox(event_id)", "outbox_event_id"},
      {"DROP INDEX outbox_held_lane", "outbox_held_lane"},
      {"DROP VIEW outbox_status; CREATE VIEW outbox_status AS SELECT 1 AS id", "outbox_status"},
  };
  for (const Damage& damage : damages) {
    CAPTURE(damage.sql);
    const TempDir dir;
    AppDatabase app(dir.file("a.db"));
    install(app, {});
    app.run("INSERT INTO outbox(topic) VALUES ('t')");
    app.run(damage.sql);
    const auto error = error_of([&] { verify_outbox_schema(app); });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::schema_differs);
    CHECK(std::string(error->what()).find(damage.name) != std::string::npos);
    CHECK_FALSE(app.any_statement_busy());
    CHECK_FALSE(install(app, {}).created);
    verify_outbox_schema(app);
    CHECK(app.number("SELECT count(*) FROM outbox") == 1);
  }
}

TEST_CASE("a rebuilt table that lost its triggers and defaults is refused, also by init") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  install(app, {});
  app.run("INSERT INTO outbox(topic) VALUES ('t')");
  // What migration tools do when a column changes.
  app.run(
      "CREATE TABLE rebuilt(id INTEGER PRIMARY KEY, event_id TEXT, nonce BLOB, topic TEXT, partition INTEGER, key "
      "TEXT, payload TEXT,"
      " headers TEXT, created_at INTEGER, deliver_at INTEGER, as_is INTEGER);"
      "INSERT INTO rebuilt SELECT * FROM outbox; PRAGMA legacy_alter_table=ON; DROP TABLE outbox; ALTER TABLE rebuilt "
      "RENAME TO outbox");
  const auto error = error_of([&] { verify_outbox_schema(app); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::schema_differs);
  CHECK(error_of([&] { install(app, {}); })->code() == ErrorCode::schema_differs);
  CHECK(app.number("SELECT count(*) FROM outbox") == 1);
}

TEST_CASE("a file without tables is not installed") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  CHECK(error_of([&] { verify_outbox_schema(app); })->code() == ErrorCode::not_installed);
  const auto inbox = error_of([&] { txbox::store::verify_inbox_schema(app); });
  CHECK(inbox->code() == ErrorCode::not_installed);
  CHECK(std::string(inbox->what()).find("or call txbox::inbox::install") != std::string::npos);
  app.run("CREATE TABLE outbox(x)");
  CHECK(error_of([&] { verify_outbox_schema(app); })->code() == ErrorCode::not_installed);
}

TEST_CASE("a limit in txbox_meta that the guard does not have is a difference, and init makes them agree") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  install(app, {});
  app.run("UPDATE txbox_meta SET value = 5 WHERE name = 'max_record_bytes'");
  CHECK(error_of([&] { verify_outbox_schema(app); })->code() == ErrorCode::schema_differs);
  install(app, {});
  verify_outbox_schema(app);
}

TEST_CASE("a copy by VACUUM INTO has the same schema") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  install(app, {});
  app.run("INSERT INTO outbox(topic, key) VALUES ('t', 'k')");
  app.run("VACUUM INTO '" + dir.file("b.db") + "'");
  AppDatabase copy(dir.file("b.db"));
  verify_outbox_schema(copy);
  txbox::store::verify_inbox_schema(copy);
}

TEST_CASE("a file with one box is verified for that one, and a file with neither is not installed") {
  const TempDir dir;
  AppDatabase neither(dir.file("neither.db"));
  const auto error = error_of([&] { txbox::store::verify_boxes(neither); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::not_installed);

  AppDatabase app(dir.file("a.db"));
  install(app, {.outbox = false});
  CHECK_FALSE(txbox::store::verify_boxes(app).outbox);
  CHECK(txbox::store::verify_boxes(app).inbox);
  install(app, {});
  CHECK(txbox::store::verify_boxes(app).outbox);
  for (const char* damage : {"DROP TABLE inbox_epochs", "DROP TRIGGER outbox_guard"}) {
    app.run(damage);
    const auto damaged = error_of([&] { txbox::store::verify_boxes(app); });
    REQUIRE(damaged.has_value());
    CHECK(damaged->code() == ErrorCode::schema_differs);
  }

  AppDatabase outbox(dir.file("o.db"));
  install(outbox, {.inbox = false});
  CHECK(txbox::store::verify_boxes(outbox).outbox);
  CHECK_FALSE(txbox::store::verify_boxes(outbox).inbox);
}
