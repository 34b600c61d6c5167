#include <filesystem>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include <txbox/store/inbox_store.hpp>

#include "support/expect_error.hpp"
#include "support/inbox_database.hpp"

using txbox::ErrorCode;
using txbox::store::InboxClaim;
using txbox::store::Statement;
using txbox::test::code_of;
using txbox::test::error_of;
using txbox::test::InboxDatabase;
using txbox::test::InboxSide;

namespace {

/// A batch in which one message was handled and a second one is in the middle.
struct Handling : InboxDatabase {
  Handling() {
    side.take(place, 10);
    inbox.begin();
    handle_message("one", 10);
    inbox.release();
    handle_message("two", 11);
  }
  void handle_message(const std::string& event_id, std::int64_t offset) {
    inbox.savepoint();
    REQUIRE(inbox.claim(event_id, {place, offset}) == InboxClaim::first);
    side.handle("INSERT INTO effect VALUES ('" + event_id + "')");
  }
  /// What stands in the file for everybody else.
  std::string committed() {
    return app
        .text(
            "SELECT (SELECT coalesce(group_concat(event_id), '-') FROM inbox) || ' ' ||"
            " (SELECT coalesce(group_concat(x), '-') FROM effect) || ' ' || next_offset FROM inbox_offsets")
        .value_or("none");
  }
  txbox::store::InboxStore& inbox = side.inbox;
};

}  // namespace

TEST_CASE("claims, effects and the position commit together or not at all") {
  Handling file;
  file.inbox.release();
  REQUIRE(file.inbox.advance(file.place, 10, 12));
  CHECK(file.committed() == "- - 10");
  SUBCASE("committed") {
    file.inbox.commit();
    CHECK(file.committed() == "one,two one,two 12");
  }
  SUBCASE("rolled back") {
    file.inbox.rollback();
    CHECK(file.committed() == "- - 10");
  }
  CHECK_FALSE(file.inbox.transaction_open());
  CHECK_FALSE(file.side.any_statement_busy());
  file.inbox.begin();
  CHECK(file.inbox.transaction_open());
  file.inbox.rollback();
}

TEST_CASE("one bad message does not undo its batch") {
  Handling file;
  file.inbox.roll_back_to_savepoint();
  // What is written in place of its effect belongs to the batch again, with or without a savepoint.
  file.inbox.claim_parked("two", {file.place, 11});
  file.handle_message("three", 12);
  file.inbox.release();
  REQUIRE(file.inbox.advance(file.place, 10, 13));
  file.inbox.commit();
  CHECK(file.committed() == "one,three,two one,three 13");
  CHECK(file.app.text("SELECT group_concat(event_id) FROM inbox WHERE parked") == "two");
}

TEST_CASE("savepoints that a handler left open end with its message") {
  Handling file;
  file.side.handle("SAVEPOINT mine; INSERT INTO effect VALUES ('inner'); SAVEPOINT deeper");
  SUBCASE("kept") {
    file.inbox.release();
    file.inbox.commit();
    CHECK(file.committed() == "one,two one,two,inner 10");
  }
  SUBCASE("undone") {
    file.inbox.roll_back_to_savepoint();
    file.inbox.commit();
    CHECK(file.committed() == "one one 10");
  }
  CHECK(code_of([&] { file.side.handle("RELEASE mine"); }) == ErrorCode::failure);
}

TEST_CASE("a handler that ends the transaction is noticed, and nothing more is written alone") {
  Handling file;
  std::string kept;
  SUBCASE("by COMMIT") {
    file.side.handle("COMMIT");
    CHECK_FALSE(file.inbox.transaction_open());
    kept = "one,two one,two 10";
  }
  SUBCASE("by ROLLBACK") {
    file.side.handle("ROLLBACK");
    CHECK_FALSE(file.inbox.transaction_open());
    kept = "- - 10";
  }
  SUBCASE("by COMMIT, with another one begun") {
    file.side.handle("COMMIT; BEGIN IMMEDIATE; INSERT INTO effect VALUES ('stray')");
    kept = "one,two one,two 10";
  }
  SUBCASE("by ROLLBACK, with another one begun") {
    file.side.handle("ROLLBACK; BEGIN; INSERT INTO effect VALUES ('stray')");
    kept = "- - 10";
  }
  SUBCASE("by a conflict that rolls back") {
    file.side.handle("CREATE TEMP TABLE once(x PRIMARY KEY)");
    CHECK(code_of([&] { file.side.handle("INSERT OR ROLLBACK INTO once VALUES (1), (1)"); }) == ErrorCode::refused);
    CHECK_FALSE(file.inbox.transaction_open());
    kept = "- - 10";
  }
  const auto release = error_of([&] { file.inbox.release(); });
  REQUIRE(release.has_value());
  CHECK(release->code() == ErrorCode::no_transaction);
  CHECK(std::string(release->what()).find("a handler must not COMMIT or ROLLBACK") != std::string::npos);
  CHECK_FALSE(file.inbox.transaction_open());

  const auto place = file.place;
  CHECK(code_of([&] { file.inbox.roll_back_to_savepoint(); }) == ErrorCode::no_transaction);
  CHECK(code_of([&] { file.inbox.savepoint(); }) == ErrorCode::no_transaction);
  CHECK(code_of([&] { (void)file.inbox.claim("three", {place, 12}); }) == ErrorCode::no_transaction);
  CHECK(code_of([&] { file.inbox.claim_parked("three", {place, 12}); }) == ErrorCode::no_transaction);
  CHECK(code_of([&] { file.inbox.settle_parked("three", {place, 12}); }) == ErrorCode::no_transaction);
  CHECK(code_of([&] { (void)file.inbox.advance(place, 10, 12); }) == ErrorCode::no_transaction);
  CHECK(code_of([&] { file.inbox.record_started(place, 12); }) == ErrorCode::no_transaction);
  CHECK(code_of([&] { file.inbox.record_failed(place, 12, "e", 0); }) == ErrorCode::no_transaction);
  CHECK(code_of([&] { file.inbox.forget_attempts(place, 12); }) == ErrorCode::no_transaction);
  CHECK(code_of([&] { file.inbox.commit(); }) == ErrorCode::no_transaction);
  file.inbox.rollback();
  CHECK(sqlite3_get_autocommit(file.side.connection.handle()) == 1);
  CHECK(file.committed() == kept);

  // The next batch repeats what was not kept, and is as good as any.
  file.inbox.begin();
  const auto repeated = file.inbox.claim("one", {place, 10});
  CHECK((repeated == InboxClaim::duplicate) == (kept != "- - 10"));
  REQUIRE(file.inbox.advance(place, 10, 12));
  file.inbox.commit();
  CHECK(file.inbox.position(place)->next_offset == 12);
}

TEST_CASE("outside of a batch nothing is written") {
  InboxDatabase file;
  file.side.take(file.place, 10);
  auto& inbox = file.side.inbox;
  const auto error = error_of([&] { (void)inbox.claim("one", {file.place, 10}); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::no_transaction);
  CHECK(std::string(error->what()).find("begin() comes first") != std::string::npos);
  CHECK(code_of([&] { inbox.commit(); }) == ErrorCode::no_transaction);
  inbox.rollback();
  // An application's own transaction is not the batch's either.
  file.side.handle("BEGIN IMMEDIATE");
  CHECK_FALSE(inbox.transaction_open());
  CHECK(code_of([&] { (void)inbox.advance(file.place, 10, 11); }) == ErrorCode::no_transaction);
  const auto open = error_of([&] { inbox.begin(); });
  REQUIRE(open.has_value());
  CHECK(open->code() == ErrorCode::failure);
  CHECK(open->transaction_alive());
  file.side.handle("ROLLBACK");
  inbox.begin();
  inbox.rollback();
}

TEST_CASE("a write that a handler left in the middle keeps neither its message nor its batch from ending") {
  Handling file;
  Statement writing(file.side.connection.handle(), "INSERT INTO effect VALUES (1), (2) RETURNING x");
  REQUIRE(writing.step());
  SUBCASE("kept") {
    file.inbox.release();
    file.handle_message("three", 12);
    REQUIRE(writing.step());
    file.inbox.roll_back_to_savepoint();
    file.inbox.commit();
    CHECK(file.committed() == "one,two one,two,1,2 10");
  }
  SUBCASE("undone") {
    file.inbox.roll_back_to_savepoint();
    file.inbox.savepoint();
    file.inbox.release();
    file.inbox.commit();
    CHECK(file.committed() == "one one 10");
  }
  SUBCASE("outside of a message") {
    file.inbox.release();
    REQUIRE(writing.step());
    file.inbox.commit();
    CHECK(file.committed() == "one,two one,two,1,2,1,2 10");
  }
  CHECK_FALSE(file.side.any_statement_busy());
}

TEST_CASE("a read that was left in the middle does not pin the snapshot of a past batch") {
  Handling file;
  Statement reading(file.side.connection.handle(), "SELECT x FROM effect");
  const auto batch = [&] {
    file.inbox.begin();
    CHECK(file.inbox.advance(file.place, 10, 10));
    file.inbox.commit();
  };
  SUBCASE("inside of a batch") {
    REQUIRE(reading.step());
    file.inbox.release();
    file.inbox.commit();
    CHECK_FALSE(file.side.any_statement_busy());
  }
  SUBCASE("inside of a batch that was rolled back") {
    REQUIRE(reading.step());
    file.inbox.rollback();
    CHECK_FALSE(file.side.any_statement_busy());
  }
  SUBCASE("between two batches") {
    file.inbox.commit();
    REQUIRE(reading.step());
  }
  // A write behind an old snapshot would be refused as stale for ever.
  file.app.run("INSERT INTO effect VALUES ('elsewhere')");
  batch();
  CHECK_FALSE(file.side.any_statement_busy());
}

TEST_CASE("a BLOB handle that a handler keeps open stays usable") {
  InboxDatabase file;
  file.app.run("CREATE TABLE pictures(id INTEGER PRIMARY KEY, bytes); INSERT INTO pictures VALUES (1, x'00112233')");
  sqlite3_blob* picture = nullptr;
  sqlite3* db = file.side.connection.handle();
  file.side.inbox.begin();
  REQUIRE(sqlite3_blob_open(db, "main", "pictures", "bytes", 1, 0, &picture) == SQLITE_OK);
  file.side.inbox.commit();
  char byte = 0;
  CHECK(sqlite3_blob_read(picture, &byte, 1, 1) == SQLITE_OK);
  CHECK(byte == 0x11);
  sqlite3_blob_close(picture);
}

TEST_CASE("a full disk is said, the batch is rolled back whole, and goes on once there is room") {
  Handling file;
  file.inbox.release();
  const auto limit = [&](const std::string& pages) { file.side.handle("PRAGMA max_page_count=" + pages); };
  limit(std::to_string(file.app.number("PRAGMA page_count") + 3));
  std::optional<txbox::Error> error;
  for (int message = 0; message < 1000 && !error; ++message) {
    error = error_of([&] {
      (void)file.inbox.claim(std::string(200, 'x') + std::to_string(message), {file.place, 100 + message});
    });
  }
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::disk_full);
  CHECK(error->transaction_alive() == file.inbox.transaction_open());
  CHECK_FALSE(file.side.any_statement_busy());
  file.inbox.rollback();
  CHECK(file.committed() == "- - 10");

  limit("1000000");
  file.inbox.begin();
  CHECK(file.inbox.claim("one", {file.place, 10}) == InboxClaim::first);
  file.inbox.commit();
  CHECK(file.committed() == "one - 10");
}

TEST_CASE("a handler that fills the disk costs its message, not those before it, where SQLite kept the transaction") {
  Handling file;
  file.side.handle("PRAGMA max_page_count=" + std::to_string(file.app.number("PRAGMA page_count") + 3));
  CHECK(code_of([&] { file.side.handle("INSERT INTO effect VALUES (zeroblob(1000000))"); }) == ErrorCode::disk_full);
  if (file.inbox.transaction_open()) {
    file.inbox.roll_back_to_savepoint();
    file.inbox.commit();
    CHECK(file.committed() == "one one 10");
  } else {
    CHECK(code_of([&] { file.inbox.release(); }) == ErrorCode::no_transaction);
    file.inbox.rollback();
    CHECK(file.committed() == "- - 10");
  }
}

TEST_CASE("begin looks at the file and its schema before anything is written") {
  InboxDatabase file;
  auto& inbox = file.side.inbox;
  file.side.take(file.place, 1);
  SUBCASE("a table of the application's changes nothing") {
    file.app.run("CREATE TABLE other(x)");
    inbox.begin();
    CHECK(inbox.advance(file.place, 1, 2));
    inbox.commit();
    return;
  }
  SUBCASE("a guard was lost") {
    file.app.run("DROP TRIGGER inbox_guard");
    CHECK(code_of([&] { inbox.begin(); }) == ErrorCode::schema_differs);
  }
  SUBCASE("a newer txbox has the file") {
    file.app.run("UPDATE txbox_meta SET value = 99 WHERE name = 'schema_version'");
    CHECK(code_of([&] { inbox.begin(); }) == ErrorCode::schema_newer);
  }
  SUBCASE("the file was deleted") {
    std::filesystem::remove(file.path);
    CHECK(code_of([&] { inbox.begin(); }) == ErrorCode::moved);
    CHECK(code_of([&] { file.side.take(file.place); }) == ErrorCode::moved);
  }
  CHECK_FALSE(inbox.transaction_open());
  CHECK(sqlite3_get_autocommit(file.side.connection.handle()) == 1);
  CHECK_FALSE(file.side.any_statement_busy());
}
