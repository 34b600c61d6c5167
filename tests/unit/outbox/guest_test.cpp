#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <txbox/outbox/outbox.hpp>

#include "support/app_database.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

// The application's own connection is left as it was found, whether a call succeeds or throws.

using txbox::outbox::install;
using txbox::outbox::Outbox;
using txbox::test::AppDatabase;
using txbox::test::error_of;
using txbox::test::TempDir;

namespace {

/// What a connection has that a library could disturb.
struct Habits {
  std::vector<std::string> pragmas;
  sqlite3_int64 last_rowid;
  bool autocommit;
  int trigger_enabled = -1;
  int view_enabled = -1;
  int defensive = -1;
  int trusted_schema = -1;
  friend bool operator==(const Habits&, const Habits&) = default;
};

Habits habits_of(AppDatabase& app) {
  Habits habits{};
  for (const char* pragma : {"busy_timeout", "synchronous", "journal_mode", "foreign_keys", "recursive_triggers",
                             "defer_foreign_keys", "cache_size", "mmap_size", "wal_autocheckpoint", "user_version",
                             "application_id", "trusted_schema", "query_only", "temp_store", "secure_delete",
                             "journal_size_limit", "locking_mode", "ignore_check_constraints", "legacy_alter_table"}) {
    habits.pragmas.push_back(std::string(pragma) + "=" + app.text(std::string("PRAGMA ") + pragma).value_or("none"));
  }
  habits.last_rowid = sqlite3_last_insert_rowid(app);
  habits.autocommit = sqlite3_get_autocommit(app) != 0;
  sqlite3_db_config(app, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &habits.trigger_enabled);
  sqlite3_db_config(app, SQLITE_DBCONFIG_ENABLE_VIEW, -1, &habits.view_enabled);
  sqlite3_db_config(app, SQLITE_DBCONFIG_DEFENSIVE, -1, &habits.defensive);
  sqlite3_db_config(app, SQLITE_DBCONFIG_TRUSTED_SCHEMA, -1, &habits.trusted_schema);
  return habits;
}

struct Calls {
  int busy = 0;
  int commits = 0;
  int rollbacks = 0;
  int updates = 0;
  int wal = 0;
};

void set_hooks(AppDatabase& app, Calls& calls) {
  sqlite3_commit_hook(
      app, [](void* to) { return ++static_cast<Calls*>(to)->commits, 0; }, &calls);
  sqlite3_rollback_hook(
      app, [](void* to) { ++static_cast<Calls*>(to)->rollbacks; }, &calls);
  sqlite3_update_hook(
      app, [](void* to, int, const char*, const char*, sqlite3_int64) { ++static_cast<Calls*>(to)->updates; }, &calls);
  sqlite3_wal_hook(
      app, [](void* to, sqlite3*, const char*, int) { return ++static_cast<Calls*>(to)->wal, SQLITE_OK; }, &calls);
  sqlite3_busy_handler(
      app, [](void* to, int) { return ++static_cast<Calls*>(to)->busy, 0; }, &calls);
}

}  // namespace

TEST_CASE("pragmas, configuration, last_insert_rowid and user_version are as before after add and after a refusal") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  app.run(
      "PRAGMA user_version=42; PRAGMA application_id=77; PRAGMA foreign_keys=ON; PRAGMA busy_timeout=321; PRAGMA "
      "cache_size=-500;"
      "PRAGMA recursive_triggers=ON; PRAGMA trusted_schema=OFF; PRAGMA synchronous=FULL; CREATE TABLE t(x)");
  const Habits at_first = habits_of(app);
  install(app);
  Outbox outbox(app);
  CHECK(habits_of(app) == at_first);
  app.run("BEGIN IMMEDIATE; INSERT INTO t(rowid, x) VALUES (777, 1)");
  const Habits before = habits_of(app);
  CHECK(before.last_rowid == 777);
  outbox.add({.topic = "t"});
  CHECK(habits_of(app) == before);
  for (const char* topic : {"bad topic", ""}) CHECK(error_of([&] { outbox.add({.topic = topic}); }).has_value());
  CHECK(error_of([&] { outbox.add({.topic = "t", .headers = {{"id", "x"}}}); }).has_value());
  CHECK(sqlite3_last_insert_rowid(app) == 777);
  CHECK_FALSE(habits_of(app).autocommit);
  app.run("COMMIT");
}

TEST_CASE("the application's hooks and busy handler stay in place and are called for its own commit") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  install(app);
  Calls calls;
  set_hooks(app, calls);
  Outbox outbox(app);
  app.run("BEGIN IMMEDIATE");
  outbox.add({.topic = "t"});
  CHECK(calls.updates == 1);
  CHECK(calls.commits == 0);
  app.run("COMMIT");
  CHECK(calls.commits == 1);
  CHECK(calls.wal == 1);
  app.run("BEGIN IMMEDIATE");
  CHECK(error_of([&] { outbox.add({.topic = "bad topic"}); }).has_value());
  CHECK(calls.rollbacks == 0);
  app.run("ROLLBACK");
  CHECK(calls.rollbacks == 1);

  AppDatabase other(dir.file("a.db"));
  other.run("BEGIN IMMEDIATE");
  app.run("BEGIN");
  CHECK(error_of([&] { outbox.add({.topic = "t"}); })->code() == txbox::ErrorCode::busy);
  CHECK(calls.busy == 1);
  app.run("ROLLBACK");
}

TEST_CASE("open savepoints survive add and a refusal") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  app.run("CREATE TABLE t(x)");
  install(app);
  Outbox outbox(app);
  app.run(
      "BEGIN IMMEDIATE; INSERT INTO t VALUES (1); SAVEPOINT a; INSERT INTO t VALUES (2); SAVEPOINT b; INSERT INTO t "
      "VALUES (3)");
  outbox.add({.topic = "t"});
  CHECK(error_of([&] { outbox.add({.topic = "bad topic"}); }).has_value());
  app.run("ROLLBACK TO b; RELEASE b; RELEASE a; COMMIT");
  CHECK(app.text("SELECT group_concat(x) FROM t") == "1,2");
  CHECK(app.number("SELECT count(*) FROM outbox") == 0);
}

TEST_CASE("the application's own statement stays open and its cursor where it was") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  app.run("CREATE TABLE t(x); INSERT INTO t VALUES (1), (2), (3)");
  install(app);
  Outbox outbox(app);
  app.run("BEGIN IMMEDIATE");
  sqlite3_stmt* rows = nullptr;
  REQUIRE(sqlite3_prepare_v2(app, "SELECT x FROM t ORDER BY x", -1, &rows, nullptr) == SQLITE_OK);
  for (int expected = 1; expected <= 3; ++expected) {
    REQUIRE(sqlite3_step(rows) == SQLITE_ROW);
    CHECK(sqlite3_column_int(rows, 0) == expected);
    outbox.add({.topic = "t"});
    CHECK(error_of([&] { outbox.add({.topic = "bad topic"}); }).has_value());
  }
  sqlite3_finalize(rows);
  app.run("COMMIT");
  CHECK(app.number("SELECT count(*) FROM outbox") == 3);
}

TEST_CASE("the last rowid is given back whatever it was, also with extended codes on") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  app.run("CREATE TABLE t(id INTEGER PRIMARY KEY)");
  install(app);
  sqlite3_extended_result_codes(app, 1);
  Outbox outbox(app);
  for (const sqlite3_int64 rowid : {sqlite3_int64{1}, sqlite3_int64{-5}, sqlite3_int64{INT64_MAX}}) {
    app.run("BEGIN; INSERT INTO t VALUES (" + std::to_string(rowid) + ")");
    outbox.add({.topic = "t"});
    app.run("COMMIT");
    CHECK(sqlite3_last_insert_rowid(app) == rowid);
  }
}

TEST_CASE("after the outbox is destroyed the connection closes") {
  const TempDir dir;
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(dir.file("a.db").c_str(), &db) == SQLITE_OK);
  REQUIRE(sqlite3_exec(db, "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr) == SQLITE_OK);
  install(db);
  { const Outbox outbox(db); }
  CHECK(sqlite3_close(db) == SQLITE_OK);
}
