#include <string>

#include <doctest/doctest.h>

#include <txbox/store/connection.hpp>
#include <txbox/store/statement.hpp>

#include "support/app_database.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

using txbox::BytesView;
using txbox::ErrorCode;
using txbox::store::ResetGuard;
using txbox::store::Statement;
using txbox::test::AppDatabase;
using txbox::test::code_of;
using txbox::test::TempDir;

TEST_CASE("null, empty and bytes come out of a column as they were bound") {
  const TempDir dir;
  const AppDatabase app(dir.file("a.db"));
  Statement echo(app, "SELECT ?1, ?2, ?3, ?4, ?5");
  const std::string_view bytes("\0\xff", 2);
  echo.bind_blob(1, BytesView())
      .bind_blob(2, BytesView(std::string_view()))
      .bind_blob(3, bytes)
      .bind(4, std::string_view())
      .bind(5, std::string_view("t\0x", 3));
  const ResetGuard guard(echo);
  REQUIRE(echo.step());
  CHECK(echo.column_bytes(0).is_null());
  CHECK(echo.column_bytes(1) == BytesView(std::string_view()));
  CHECK(echo.column_bytes(2) == BytesView(bytes));
  CHECK(echo.column_bytes(3) == BytesView(std::string_view()));
  CHECK(echo.column_type(1) == SQLITE_BLOB);
  CHECK(echo.column_type(3) == SQLITE_TEXT);
  CHECK(echo.column_text(4) == std::string_view("t\0x", 3));
}

TEST_CASE("optional integers are null or a number") {
  const TempDir dir;
  const AppDatabase app(dir.file("a.db"));
  Statement echo(app, "SELECT ?1, ?2");
  echo.bind(1, std::optional<std::int64_t>()).bind(2, std::optional<std::int64_t>(INT64_MIN));
  const ResetGuard guard(echo);
  REQUIRE(echo.step());
  CHECK_FALSE(echo.column_optional(0).has_value());
  CHECK(echo.column_optional(1) == INT64_MIN);
}

TEST_CASE("a statement that ended or failed is not busy") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  app.run("CREATE TABLE t(x CHECK (x > 0))");
  Statement insert(app, "INSERT INTO t VALUES (?1)");
  insert.bind(1, 1).execute();
  CHECK_FALSE(app.any_statement_busy());
  insert.bind(1, 0);
  CHECK(code_of([&] { insert.execute(); }) == ErrorCode::refused);
  CHECK_FALSE(app.any_statement_busy());
  insert.bind(1, 2).execute();
  Statement read(app, "SELECT x FROM t");
  REQUIRE(read.step());
  CHECK(app.any_statement_busy());
  while (read.step()) {
  }
  CHECK_FALSE(app.any_statement_busy());
}

TEST_CASE("SQL that does not prepare is a failure with SQLite's words") {
  const TempDir dir;
  const AppDatabase app(dir.file("a.db"));
  const auto error = txbox::test::error_of([&] { const Statement broken(app, "SELECT x FROM nowhere"); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::failure);
  CHECK(std::string(error->what()) == "preparing \"SELECT x FROM nowhere\": no such table: nowhere");
}
