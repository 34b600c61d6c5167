#include <doctest/doctest.h>

#include <txbox/store/connection.hpp>
#include <txbox/store/statement.hpp>
#include <txbox/store/transaction.hpp>

#include "support/app_database.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

using namespace std::chrono_literals;
using txbox::ErrorCode;
using txbox::store::Connection;
using txbox::store::ReadTransaction;
using txbox::store::WriteTransaction;
using txbox::test::AppDatabase;
using txbox::test::code_of;
using txbox::test::error_of;
using txbox::test::TempDir;

namespace {
struct Files {
  TempDir dir;
  AppDatabase app{dir.file("a.db")};
  Files() { app.run("CREATE TABLE t(x)"); }
  [[nodiscard]] Connection open(std::chrono::milliseconds deadline = 20ms) const {
    return Connection::open(dir.file("a.db"), {.busy_deadline = deadline});
  }
};
}  // namespace

TEST_CASE("what was not committed is rolled back, what was is there") {
  Files files;
  const Connection own = files.open();
  {
    const WriteTransaction transaction(own.handle());
    txbox::store::execute(own.handle(), "INSERT INTO t VALUES (1)");
  }
  CHECK(files.app.number("SELECT count(*) FROM t") == 0);
  {
    WriteTransaction transaction(own.handle());
    txbox::store::execute(own.handle(), "INSERT INTO t VALUES (1)");
    transaction.commit();
  }
  CHECK(files.app.number("SELECT count(*) FROM t") == 1);
}

TEST_CASE("a lock that stays taken is busy after the deadline, and free afterwards") {
  Files files;
  const Connection own = files.open();
  files.app.run("BEGIN IMMEDIATE");
  CHECK(code_of([&] { const WriteTransaction transaction(own.handle()); }) == ErrorCode::busy);
  files.app.run("COMMIT");
  CHECK_FALSE(code_of([&] { const WriteTransaction transaction(own.handle()); }).has_value());
}

TEST_CASE("a read transaction sees one snapshot and pins nothing afterwards") {
  Files files;
  const Connection own = files.open();
  const auto count = [&] {
    txbox::store::Statement read(own.handle(), "SELECT count(*) FROM t");
    const txbox::store::ResetGuard guard(read);
    return read.step() ? read.column_int64(0) : -1;
  };
  {
    const ReadTransaction transaction(own.handle());
    CHECK(count() == 0);
    files.app.run("INSERT INTO t VALUES (1)");
    CHECK(count() == 0);
  }
  CHECK(count() == 1);
}

TEST_CASE("a read that becomes a write behind another commit is a stale snapshot, not busy") {
  Files files;
  const Connection own = files.open();
  const ReadTransaction transaction(own.handle());
  txbox::store::Statement(own.handle(), "SELECT count(*) FROM t").execute();
  files.app.run("INSERT INTO t VALUES (1)");
  const auto error = error_of([&] { txbox::store::execute(own.handle(), "INSERT INTO t VALUES (2)"); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::stale_snapshot);
  CHECK(error->transaction_alive());
}
