#include <array>
#include <string>
#include <utility>

#include <sqlite3.h>

#include <doctest/doctest.h>

#include <txbox/store/connection.hpp>
#include <txbox/store/statement.hpp>

#include "support/app_database.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

using txbox::ErrorCode;

TEST_CASE("each result of SQLite says what its caller can do") {
  constexpr std::array<std::pair<int, ErrorCode>, 15> kMeanings{{
      {SQLITE_BUSY, ErrorCode::busy},
      {SQLITE_BUSY_RECOVERY, ErrorCode::busy},
      {SQLITE_BUSY_SNAPSHOT, ErrorCode::stale_snapshot},
      {SQLITE_LOCKED, ErrorCode::busy},
      {SQLITE_PROTOCOL, ErrorCode::busy},
      {SQLITE_FULL, ErrorCode::disk_full},
      {SQLITE_CORRUPT, ErrorCode::corrupt},
      {SQLITE_NOTADB, ErrorCode::corrupt},
      {SQLITE_IOERR_FSYNC, ErrorCode::corrupt},
      {SQLITE_IOERR_SHMSIZE, ErrorCode::disk_full},
      {SQLITE_CONSTRAINT_TRIGGER, ErrorCode::refused},
      {SQLITE_TOOBIG, ErrorCode::refused},
      {SQLITE_READONLY_DBMOVED, ErrorCode::moved},
      {SQLITE_READONLY, ErrorCode::unsupported_file},
      {SQLITE_NOMEM, ErrorCode::failure},
  }};
  const txbox::test::TempDir dir;
  const txbox::test::AppDatabase app(dir.file("app.db"));
  for (const auto& [number, meaning] : kMeanings) {
    const int result = number;
    CAPTURE(result);
    CHECK(txbox::test::code_of([&] { txbox::store::throw_sqlite_error(app, result, "trying"); }) == meaning);
  }
}

TEST_CASE("a guard's refusal is its own words, without the statement that it refused") {
  const txbox::test::TempDir dir;
  txbox::test::AppDatabase app(dir.file("app.db"));
  app.run(
      "CREATE TABLE t(x); CREATE TRIGGER guard BEFORE INSERT ON t BEGIN SELECT RAISE(ABORT, 'txbox: x is wrong'); END");
  const auto error =
      txbox::test::error_of([&] { txbox::store::Statement(app, "INSERT INTO main.t VALUES (1)").step(); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::refused);
  CHECK(std::string(error->what()) == "txbox: x is wrong");
}
