#include <sqlite3.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include <txbox/store/outbox_reader.hpp>

#include "support/expect_error.hpp"
#include "support/relay_store.hpp"

using txbox::ErrorCode;
using txbox::test::code_of;
using txbox::test::RelayStore;

namespace {

int bytes_used(sqlite3* db, int what) {
  int now = 0;
  int most = 0;
  REQUIRE(sqlite3_db_status(db, what, &now, &most, 0) == SQLITE_OK);
  return now;
}

int all_used(sqlite3* db) {
  return bytes_used(db, SQLITE_DBSTATUS_SCHEMA_USED) + bytes_used(db, SQLITE_DBSTATUS_STMT_USED) +
         bytes_used(db, SQLITE_DBSTATUS_CACHE_USED);
}

constexpr int kAtRest = 16 << 10;

/// One row was read, and the reader rests.
struct RestingStore : RelayStore {
  RestingStore() {
    add();
    REQUIRE(relay->read(0).size() == 1);
    relay->reader.rest();
  }
};

}  // namespace

TEST_CASE("a reader at rest keeps neither schema nor statements nor pages, and a look at the version takes none") {
  RelayStore store;
  store.add();
  auto& reader = store.relay->reader;
  sqlite3* db = store.relay->reading.handle();
  REQUIRE(store.relay->read(0).size() == 1);
  REQUIRE(all_used(db) > 100'000);

  reader.rest();
  CHECK(bytes_used(db, SQLITE_DBSTATUS_SCHEMA_USED) == 0);
  CHECK(all_used(db) < kAtRest);
  for (int look = 0; look < 3; ++look) {
    static_cast<void>(reader.version());
    static_cast<void>(reader.data_version());
    CHECK(all_used(db) < kAtRest);
  }
}

TEST_CASE("every kind of reading goes on after a rest") {
  RelayStore store;
  store.add("orders", "k", 2);
  auto& reader = store.relay->reader;
  REQUIRE(store.relay->read(0).size() == 2);
  store.add();
  reader.rest();
  CHECK(store.relay->read(2).size() == 1);
  reader.rest();
  reader.rest();
  CHECK(reader.progress().newest_id == 3);
  reader.rest();
  CHECK(store.relay->read_ready(3).empty());
  reader.rest();
  CHECK(reader.held_lanes().empty());
  reader.rest();
  CHECK_FALSE(reader.next_due_ms().has_value());
  reader.rest();
  CHECK(reader.waiting_topics().empty());
  reader.rest();
  CHECK_NOTHROW(reader.barrier());
}

TEST_CASE("at rest the version moves with every commit of another connection, and with nothing else") {
  RestingStore store;
  auto& reader = store.relay->reader;
  const auto before = reader.version();
  CHECK(reader.version() == before);
  store.add();
  CHECK(reader.version() != before);
}

TEST_CASE("at rest the version moves when the file is written past SQLite") {
  RestingStore store;
  auto& reader = store.relay->reader;
  const auto before = reader.version();
  {
    std::fstream file(store.path, std::ios::in | std::ios::out | std::ios::binary);
    char first = 0;
    file.read(&first, 1);
    file.seekp(0);
    file.write(&first, 1);
  }
  CHECK(reader.version() != before);
}

TEST_CASE("what became of the file during a rest is found by the look as by the next reading") {
  RestingStore store;
  auto& reader = store.relay->reader;

  SUBCASE("moved") {
    std::filesystem::rename(store.path, store.path + ".elsewhere");
    CHECK(code_of([&] { static_cast<void>(reader.version()); }) == ErrorCode::moved);
    CHECK(code_of([&] { store.relay->read(0); }) == ErrorCode::moved);
  }
  SUBCASE("altered") {
    store.app.run("ALTER TABLE outbox ADD COLUMN more TEXT");
    CHECK(code_of([&] { store.relay->read(0); }) == ErrorCode::schema_differs);
  }
  SUBCASE("without its tables") {
    store.app.run("DROP TABLE outbox_sent");
    CHECK(code_of([&] { store.relay->read(0); }) == ErrorCode::schema_differs);
  }
  SUBCASE("without a column that the first question after the rest is about") {
    store.app.run("ALTER TABLE outbox_held RENAME COLUMN due_at TO due");
    CHECK(code_of([&] { static_cast<void>(reader.next_due_ms()); }) == ErrorCode::schema_differs);
  }
}
