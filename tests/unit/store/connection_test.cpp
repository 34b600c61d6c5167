#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include <txbox/store/connection.hpp>
#include <txbox/store/schema.hpp>
#include <txbox/store/statement.hpp>

#include "support/app_database.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

using namespace std::chrono_literals;
using txbox::ErrorCode;
using txbox::store::Connection;
using txbox::store::OpenPurpose;
using txbox::test::AppDatabase;
using txbox::test::code_of;
using txbox::test::TempDir;

namespace {

int db_config(sqlite3* db, int option) {
  int value = -1;
  sqlite3_db_config(db, option, -1, &value);
  return value;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a file that is not there is said to be moved, and is not made") {
  const TempDir dir;
  CHECK(code_of([&] { Connection::open(dir.file("none.db"), {}); }) == ErrorCode::moved);
  CHECK_FALSE(std::ifstream(dir.file("none.db")).good());
}

TEST_CASE("a folder that is not there is named, whoever would make the file") {
  const TempDir dir;
  for (const OpenPurpose purpose : {OpenPurpose::create, OpenPurpose::consumer}) {
    const auto error =
        txbox::test::error_of([&] { Connection::open(dir.file("none") + "/c.db", {.purpose = purpose}); });
    REQUIRE(error.has_value());
    CHECK(std::string(error->what()).find("the folder " + dir.file("none") + "/: No such") != std::string::npos);
  }
}

TEST_CASE("create makes the file and sets WAL") {
  const TempDir dir;
  Connection::open(dir.file("new.db"), {.purpose = OpenPurpose::create});
  AppDatabase app(dir.file("new.db"), false);
  CHECK(app.text("PRAGMA journal_mode") == "wal");
}

TEST_CASE("create turns an application's file with another journal mode to WAL and keeps its rows") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"), false);
  app.run("CREATE TABLE t(x); INSERT INTO t VALUES (1)");
  CHECK(code_of([&] { Connection::open(dir.file("a.db"), {}); }) == ErrorCode::not_wal);
  CHECK(app.text("PRAGMA journal_mode") == "delete");
  Connection::open(dir.file("a.db"), {.purpose = OpenPurpose::create});
  CHECK(app.number("SELECT x FROM t") == 1);
  CHECK(app.text("PRAGMA journal_mode") == "wal");
}

TEST_CASE("a file that is no database is corrupt, and stays as it is") {
  const TempDir dir;
  const std::string text(5000, 'x');
  std::ofstream(dir.file("a.db")) << text;
  for (const OpenPurpose purpose :
       {OpenPurpose::relay, OpenPurpose::tool, OpenPurpose::reader, OpenPurpose::create, OpenPurpose::consumer}) {
    CHECK(code_of([&] { Connection::open(dir.file("a.db"), {.purpose = purpose}); }) == ErrorCode::corrupt);
  }
  std::ifstream after(dir.file("a.db"));
  CHECK(std::string(std::istreambuf_iterator<char>(after), {}) == text);
}

TEST_CASE("a database in memory is refused") {
  CHECK(code_of([] { Connection::open(":memory:", {}); }) == ErrorCode::unsupported_file);
  CHECK(code_of([] { Connection::open("", {.purpose = OpenPurpose::create}); }) == ErrorCode::unsupported_file);
}

TEST_CASE("the relay's connection runs no trigger and no view of the application, and never checkpoints") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  const Connection relay = Connection::open(dir.file("a.db"), {.purpose = OpenPurpose::relay});
  CHECK(db_config(relay.handle(), SQLITE_DBCONFIG_DEFENSIVE) == 1);
  CHECK(db_config(relay.handle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA) == 0);
  CHECK(db_config(relay.handle(), SQLITE_DBCONFIG_ENABLE_TRIGGER) == 0);
  CHECK(db_config(relay.handle(), SQLITE_DBCONFIG_ENABLE_VIEW) == 0);
  for (const char* pragma : {"PRAGMA wal_autocheckpoint", "PRAGMA mmap_size"}) {
    txbox::store::Statement read(relay.handle(), pragma);
    CHECK((!read.step() || read.column_int64(0) == 0));
  }
}

TEST_CASE(
    "the consumer's connection is an application's: triggers, views and checkpoints work, and commits are durable") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  app.run(
      "CREATE TABLE t(x); CREATE VIEW v AS SELECT x FROM t; CREATE TABLE log(x);"
      " CREATE TRIGGER mine AFTER INSERT ON t BEGIN INSERT INTO log VALUES (NEW.x); END");
  const Connection consumer = Connection::open(dir.file("a.db"), {.purpose = OpenPurpose::consumer});
  sqlite3* db = consumer.handle();
  CHECK(db_config(db, SQLITE_DBCONFIG_DEFENSIVE) == 0);
  CHECK(db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER) == 1);
  CHECK(db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW) == 1);
  CHECK(db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA) == db_config(app, SQLITE_DBCONFIG_TRUSTED_SCHEMA));
  CHECK(db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE) == 0);
  const auto pragma = [&](const char* text) {
    txbox::store::Statement read(db, text);
    return read.step() ? read.column_int64(0) : 0;
  };
  CHECK(pragma("PRAGMA synchronous") == 2);
  CHECK(pragma("PRAGMA wal_autocheckpoint") == app.number("PRAGMA wal_autocheckpoint"));
  CHECK(pragma("PRAGMA mmap_size") == 0);
  txbox::store::execute(db, "INSERT INTO t VALUES (7)");
  CHECK(app.number("SELECT log.x FROM v JOIN log USING (x)") == 7);
}

TEST_CASE("a consumer makes its file, sets WAL, and leaves it in one piece") {
  const TempDir dir;
  {
    const Connection consumer = Connection::open(dir.file("new.db"), {.purpose = OpenPurpose::consumer});
    txbox::store::install(consumer.handle(), {.outbox = false});
  }
  CHECK_FALSE(std::filesystem::exists(dir.file("new.db-wal")));
  AppDatabase app(dir.file("new.db"), false);
  CHECK(app.text("PRAGMA journal_mode") == "wal");
  CHECK(app.number("SELECT count(*) FROM inbox") == 0);
}

TEST_CASE("a tool reads views, so they are on") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  txbox::store::install(app, {});
  const Connection tool = Connection::open(dir.file("a.db"), {.purpose = OpenPurpose::tool});
  txbox::store::Statement read(tool.handle(), "SELECT count(*) FROM outbox_status");
  REQUIRE(read.step());
  CHECK(read.column_int64(0) == 0);
}

TEST_CASE("waiting for the lock ends when it is given back, and moving the connection keeps its handler") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  app.run("CREATE TABLE t(x)");
  Connection first = Connection::open(dir.file("a.db"), {.busy_deadline = 1ms});
  Connection own = std::move(first);
  own.set_busy_deadline(60s);
  app.run("BEGIN IMMEDIATE");

  std::thread holder([&] { app.run("COMMIT"); });
  txbox::store::execute(own.handle(), "INSERT INTO t VALUES (1)");
  holder.join();
  CHECK(app.number("SELECT count(*) FROM t") == 1);
}

TEST_CASE("an exclusive lock elsewhere is busy, not an empty answer") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"), false);
  app.run("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; CREATE TABLE t(x)");
  CHECK(code_of([&] { Connection::open(dir.file("a.db"), {.busy_deadline = 5ms}); }) == ErrorCode::busy);
}

TEST_CASE("closing the last connection leaves database and WAL byte for byte as they were") {
  const TempDir dir;
  {
    AppDatabase app(dir.file("a.db"));
    app.run("CREATE TABLE t(x); INSERT INTO t VALUES (1)");
    // What an application leaves that was killed: committed rows that only the WAL holds.
    for (const char* suffix : {"", "-wal"}) std::filesystem::copy(dir.file("a.db") + suffix, dir.file("b.db") + suffix);
  }
  const std::string database = content(dir.file("b.db"));
  const std::string wal = content(dir.file("b.db-wal"));
  REQUIRE_FALSE(wal.empty());
  for (const OpenPurpose purpose : {OpenPurpose::relay, OpenPurpose::tool, OpenPurpose::reader}) {
    Connection::open(dir.file("b.db"), {.purpose = purpose});
    CHECK(content(dir.file("b.db")) == database);
    CHECK(content(dir.file("b.db-wal")) == wal);
  }
}

TEST_CASE("closing a file that was replaced leaves the WAL of its successor in place") {
  const TempDir dir;
  std::optional<AppDatabase> former(dir.file("a.db"));
  std::optional<Connection> relay(Connection::open(dir.file("a.db"), {.purpose = OpenPurpose::relay}));
  former.reset();
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(dir.file("a.db") + suffix);
  AppDatabase successor(dir.file("a.db"));
  successor.run("CREATE TABLE t(x); INSERT INTO t VALUES (1)");

  relay.reset();
  CHECK(std::filesystem::exists(dir.file("a.db-wal")));
  AppDatabase reader(dir.file("a.db"));
  CHECK(reader.number("SELECT count(*) FROM t") == 1);
}

TEST_CASE("what create made stands in the database itself, not in a WAL that a copy would miss") {
  const TempDir dir;
  {
    const Connection made = Connection::open(dir.file("a.db"), {.purpose = OpenPurpose::create});
    txbox::store::install(made.handle(), {});
  }
  CHECK_FALSE(std::filesystem::exists(dir.file("a.db-wal")));
  CHECK_FALSE(content(dir.file("a.db")).empty());
}

TEST_CASE("a file in no doubt is left whole: the last connection merges the WAL when it is told to") {
  const TempDir dir;
  std::optional<AppDatabase> app(dir.file("a.db"));
  app->run("CREATE TABLE t(x); INSERT INTO t VALUES (1)");
  std::optional<Connection> relay(Connection::open(dir.file("a.db"), {.purpose = OpenPurpose::relay}));
  app.reset();  // The application closes first, so the merging is not its any more.
  REQUIRE_FALSE(content(dir.file("a.db-wal")).empty());

  relay->leave_whole();
  relay.reset();
  CHECK_FALSE(std::filesystem::exists(dir.file("a.db-wal")));
  AppDatabase reader(dir.file("a.db"));
  CHECK(reader.number("SELECT count(*) FROM t") == 1);
}
