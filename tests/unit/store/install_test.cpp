#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <txbox/store/connection.hpp>
#include <txbox/store/schema.hpp>

#include "support/app_database.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

using txbox::ErrorCode;
using txbox::store::install;
using txbox::store::InstallOptions;
using txbox::test::AppDatabase;
using txbox::test::code_of;
using txbox::test::error_of;
using txbox::test::TempDir;

namespace {

std::int64_t object_count(AppDatabase& app) { return app.number("SELECT count(*) FROM sqlite_schema"); }

/// Everything in the schema, as one text to compare.
std::string whole_schema(AppDatabase& app) {
  return app.text("SELECT group_concat(sql, char(10)) FROM (SELECT sql FROM sqlite_schema ORDER BY type, name)")
      .value_or("");
}

/// Runs it in eight processes that are let go at the same moment, and wants success from each.
template <typename Work>
void in_eight_processes(const Work& work) {
  int gate[2];
  REQUIRE(pipe(gate) == 0);
  std::vector<pid_t> children;
  for (int process = 0; process < 8; ++process) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      int status = 1;
      try {
        char opened = 0;
        close(gate[1]);
        if (read(gate[0], &opened, 1) == 0) work();
        status = 0;
      } catch (const std::exception& error) {
        fprintf(stderr, "child: %s\n", error.what());
      }
      _exit(status);
    }
    children.push_back(child);
  }
  close(gate[0]);
  close(gate[1]);
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
}

}  // namespace

TEST_CASE("installing again changes nothing, and says so") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  CHECK(install(app, {}).created);
  const std::string schema = whole_schema(app);
  const auto uuid = app.text("SELECT value FROM txbox_meta WHERE name = 'store_uuid'");
  const auto version = app.number("PRAGMA main.schema_version");
  CHECK_FALSE(install(app, {}).created);
  CHECK(whole_schema(app) == schema);
  CHECK(app.number("PRAGMA main.schema_version") == version);
  CHECK(app.text("SELECT value FROM txbox_meta WHERE name = 'store_uuid'") == uuid);
  txbox::store::verify_outbox_schema(app);
  txbox::store::verify_inbox_schema(app);
}

TEST_CASE("a new store has an identity of its own") {
  const TempDir dir;
  AppDatabase one(dir.file("1.db"));
  AppDatabase two(dir.file("2.db"));
  install(one, {});
  install(two, {});
  const auto first = txbox::store::read_identity(one);
  const auto second = txbox::store::read_identity(two);
  CHECK(first.store_uuid.size() == 36);
  CHECK(first.store_uuid[14] == '4');
  CHECK(first.store_uuid != second.store_uuid);
  CHECK(first.incarnation == 1);
  CHECK(first.schema_version == txbox::store::kSchemaVersion);
  CHECK(first.max_record_bytes == txbox::store::kDefaultMaxRecordBytes);
}

TEST_CASE("eight processes install one file at once") {
  const TempDir dir;
  // Several rounds: whoever comes first recovers the log, and whoever closes last holds the whole file for a moment.
  for (int round = 0; round < 10; ++round) {
    const std::string path = dir.file("installed-" + std::to_string(round) + ".db");
    { const AppDatabase app(path); }
    in_eight_processes([&] {
      AppDatabase app(path, false);
      install(app, {});
    });
    AppDatabase app(path);
    txbox::store::verify_outbox_schema(app);
    txbox::store::verify_inbox_schema(app);
    CHECK(app.number("SELECT count(*) FROM txbox_meta WHERE name = 'store_uuid'") == 1);
    CHECK(app.number("SELECT count(*) FROM outbox_progress") == 1);
  }
}

TEST_CASE("a file that another connection holds whole is waited for from the first look on") {
  const TempDir dir;
  const std::string path = dir.file("held.db");
  std::optional<AppDatabase> holder(path);
  holder->run("PRAGMA locking_mode=EXCLUSIVE");
  holder->run("CREATE TABLE business(id INTEGER)");
  AppDatabase app(path, false);
  struct Release {
    std::optional<AppDatabase>* holder;
    int looks = 0;
  } release{&holder};
  // SQLite asks for leave at each try to look at the file: the second try finds it free.
  sqlite3_set_authorizer(
      app,
      [](void* state, int, const char*, const char*, const char*, const char*) {
        auto& mine = *static_cast<Release*>(state);
        if (++mine.looks == 2) mine.holder->reset();
        return SQLITE_OK;
      },
      &release);
  install(app, {});
  sqlite3_set_authorizer(app, nullptr, nullptr);
  CHECK(release.looks > 2);
  txbox::store::verify_outbox_schema(app);
}

TEST_CASE("eight processes create one file at once, as often as they like") {
  const TempDir dir;
  for (int round = 0; round < 10; ++round) {
    const std::string path = dir.file("created-" + std::to_string(round) + ".db");
    in_eight_processes([&] {
      const auto own = txbox::store::Connection::open(path, {.purpose = txbox::store::OpenPurpose::create});
      install(own.handle(), {});
      txbox::store::verify_outbox_schema(own.handle());
    });
  }
}

TEST_CASE("another limit is installed, told, and enforced, and no limit keeps it") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  CHECK(install(app, {}).max_record_bytes == 1'000'000);
  const auto result = install(app, {.max_record_bytes = 10});
  CHECK(result.old_max_record_bytes == 1'000'000);
  CHECK(result.max_record_bytes == 10);
  CHECK_FALSE(result.created);
  CHECK(app.attempt("INSERT INTO outbox(topic, key, payload) VALUES ('t', '12345', '12345')").empty());
  CHECK(app.attempt("INSERT INTO outbox(topic, key, payload) VALUES ('t', '12345', '123456')").find("txbox: ") == 0);
  CHECK(install(app, {}).max_record_bytes == 10);
  txbox::store::verify_outbox_schema(app);
  CHECK(txbox::store::read_identity(app).max_record_bytes == 10);
  CHECK(code_of([&] { install(app, {.max_record_bytes = -1}); }) == ErrorCode::invalid_argument);
}

TEST_CASE("one box may come without the other, and the other may follow") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  CHECK(install(app, {.outbox = false}).created);
  txbox::store::verify_inbox_schema(app);
  CHECK(code_of([&] { txbox::store::verify_outbox_schema(app); }) == ErrorCode::not_installed);
  CHECK(install(app, {.inbox = false}).created);
  txbox::store::verify_outbox_schema(app);
  CHECK_FALSE(install(app, {}).created);
}

TEST_CASE("a foreign table of one of our names is refused by name and nothing is made") {
  for (const char* name : {"outbox", "OutBox", "inbox", "outbox_sent", "txbox_meta", "inbox_offsets"}) {
    CAPTURE(name);
    const TempDir dir;
    AppDatabase app(dir.file("a.db"));
    app.run(std::string("CREATE TABLE ") + name + "(id INTEGER PRIMARY KEY, message TEXT)");
    const auto error = error_of([&] { install(app, {}); });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::foreign_table);
    CHECK(std::string(error->what()).find("rename") != std::string::npos);
    CHECK(object_count(app) == 1);
    CHECK(sqlite3_get_autocommit(app) == 1);
  }
}

TEST_CASE("a foreign view or index of one of our names is refused, not dropped") {
  for (const char* sql :
       {"CREATE VIEW outbox AS SELECT 1", "CREATE VIEW outbox_status AS SELECT 1",
        "CREATE INDEX outbox_event_id ON t(x)", "CREATE TRIGGER outbox_guard AFTER INSERT ON t BEGIN SELECT 1; END"}) {
    CAPTURE(sql);
    const TempDir dir;
    AppDatabase app(dir.file("a.db"));
    app.run("CREATE TABLE t(x)");
    app.run(sql);
    CHECK(code_of([&] { install(app, {}); }) == ErrorCode::foreign_table);
    CHECK(object_count(app) == 2);
  }
}

TEST_CASE("a foreign outbox beside an inbox of ours is refused") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  install(app, {.outbox = false});
  app.run("CREATE TABLE outbox(x)");
  CHECK(code_of([&] { install(app, {}); }) == ErrorCode::foreign_table);
  // What the application installed before keeps working for its own part.
  txbox::store::verify_inbox_schema(app);
}

TEST_CASE("only some of our tables: nothing is made beside them") {
  for (const char* name : {"outbox_sent", "outbox_held", "outbox_progress", "inbox_offsets", "txbox_audit"}) {
    CAPTURE(name);
    const TempDir dir;
    AppDatabase app(dir.file("a.db"));
    install(app, {});
    app.run(std::string("DROP TABLE ") + name);
    const auto before = object_count(app);
    CHECK(code_of([&] { install(app, {}); }) == ErrorCode::schema_differs);
    CHECK(object_count(app) == before);
  }
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  install(app, {});
  app.run("DROP TABLE txbox_meta");
  CHECK(code_of([&] { install(app, {}); }) == ErrorCode::schema_differs);
}

TEST_CASE("rows of our own that are missing are put back, and an installation says so") {
  const TempDir dir;
  const std::string path = dir.file("shop.db");
  AppDatabase app(path);
  install(app, {});
  CHECK_FALSE(install(app, {}).repaired);
  for (const char* loss : {"DELETE FROM outbox_progress", "DELETE FROM txbox_meta WHERE name = 'incarnation'",
                           "DROP TRIGGER outbox_guard", "DROP VIEW outbox_status"}) {
    CAPTURE(loss);
    app.run(loss);
    const auto result = install(app, {});
    CHECK(result.repaired);
    CHECK_FALSE(result.created);
    CHECK_FALSE(install(app, {}).repaired);
    CHECK(app.number("SELECT settled_through + pruned_through FROM outbox_progress") == 0);
    CHECK(txbox::store::read_identity(app).incarnation == 1);
  }
}

TEST_CASE("a newer schema is left alone") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  install(app, {});
  app.run("UPDATE txbox_meta SET value = 99 WHERE name = 'schema_version'");
  app.run("DROP TRIGGER outbox_guard");
  CHECK(code_of([&] { install(app, {}); }) == ErrorCode::schema_newer);
  CHECK(app.number("SELECT count(*) FROM sqlite_schema WHERE name = 'outbox_guard'") == 0);
  CHECK(code_of([&] { txbox::store::verify_outbox_schema(app); }) == ErrorCode::schema_newer);
  CHECK(code_of([&] { (void)txbox::store::read_identity(app); }) == ErrorCode::schema_newer);
}

TEST_CASE("files that cannot hold the boxes are refused") {
  const TempDir dir;
  SUBCASE("not WAL") {
    AppDatabase app(dir.file("a.db"), false);
    CHECK(code_of([&] { install(app, {}); }) == ErrorCode::not_wal);
  }
  SUBCASE("in memory") {
    AppDatabase app(":memory:", false);
    CHECK(code_of([&] { install(app, {}); }) == ErrorCode::unsupported_file);
  }
  SUBCASE("temporary, with a WAL file attached") {
    { const AppDatabase other(dir.file("other.db")); }
    AppDatabase app("", false);
    app.run("ATTACH '" + dir.file("other.db") + "' AS other");
    CHECK(code_of([&] { install(app, {}); }) == ErrorCode::unsupported_file);
  }
  SUBCASE("UTF-16") {
    AppDatabase app(dir.file("a.db"), false);
    app.run("PRAGMA encoding='UTF-16'; PRAGMA journal_mode=WAL; CREATE TABLE t(x)");
    CHECK(code_of([&] { install(app, {}); }) == ErrorCode::unsupported_file);
  }
  SUBCASE("inside a transaction") {
    AppDatabase app(dir.file("a.db"));
    app.run("BEGIN; CREATE TABLE business(x)");
    const auto error = error_of([&] { install(app, {}); });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::invalid_argument);
    CHECK(error->transaction_alive());
    app.run("COMMIT");
    CHECK(object_count(app) == 1);
  }
}

TEST_CASE("tables in an attached file or in TEMP do not stand in for the main file's") {
  const TempDir dir;
  {
    AppDatabase other(dir.file("other.db"));
    install(other, {});
  }
  AppDatabase app(dir.file("a.db"));
  app.run("ATTACH '" + dir.file("other.db") + "' AS other");
  app.run("CREATE TEMP TABLE outbox(x); CREATE TEMP TABLE txbox_meta(name, value)");
  CHECK(install(app, {}).created);
  txbox::store::verify_outbox_schema(app);
  CHECK(app.number("SELECT count(*) FROM main.sqlite_schema WHERE tbl_name = 'outbox' AND type = 'trigger'") == 5);
  CHECK(app.number("SELECT count(*) FROM temp.sqlite_schema WHERE type = 'trigger'") == 0);
}

TEST_CASE("a lock that is never given back ends in busy, with the transaction closed") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  AppDatabase holder(dir.file("a.db"));
  holder.run("BEGIN IMMEDIATE");
  sqlite3_busy_timeout(app, 0);
  CHECK(code_of([&] { install(app, {}); }) == ErrorCode::busy);
  CHECK(sqlite3_get_autocommit(app) == 1);
  holder.run("COMMIT");
  CHECK(install(app, {}).created);
}

TEST_CASE("where nothing is to be made nobody is waited for") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  REQUIRE(install(app, {}).created);
  AppDatabase holder(dir.file("a.db"));
  holder.run("BEGIN IMMEDIATE");
  sqlite3_busy_timeout(app, 0);
  const auto again = install(app, {});
  CHECK_FALSE(again.created);
  CHECK_FALSE(again.repaired);
  CHECK(again.max_record_bytes == txbox::store::kDefaultMaxRecordBytes);
  CHECK(install(app, {.max_record_bytes = txbox::store::kDefaultMaxRecordBytes}).old_max_record_bytes ==
        txbox::store::kDefaultMaxRecordBytes);
  CHECK_FALSE(app.any_statement_busy());
  CHECK(sqlite3_get_autocommit(app) == 1);
  CHECK(code_of([&] { install(app, {.max_record_bytes = 5000}); }) == ErrorCode::busy);
  holder.run("DROP TRIGGER inbox_guard; COMMIT");
  CHECK(install(app, {}).repaired);
  holder.run("BEGIN IMMEDIATE");
  CHECK_FALSE(install(app, {}).repaired);
}

TEST_CASE("the application's connection is as before an installation") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  app.run("PRAGMA user_version=7; PRAGMA foreign_keys=ON; PRAGMA busy_timeout=1234; PRAGMA synchronous=FULL");
  install(app, {});
  CHECK(app.number("PRAGMA user_version") == 7);
  CHECK(app.number("PRAGMA foreign_keys") == 1);
  CHECK(app.number("PRAGMA busy_timeout") == 1234);
  CHECK(app.number("PRAGMA synchronous") == 2);
  CHECK(app.text("PRAGMA journal_mode") == "wal");
  CHECK_FALSE(app.any_statement_busy());
}
