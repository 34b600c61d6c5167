#include <txbox/store/wal_readers.hpp>

#include <unistd.h>

#include <filesystem>

#include <doctest/doctest.h>

#include <txbox/store/schema.hpp>

#include "support/app_database.hpp"
#include "support/temp_dir.hpp"

using txbox::store::Connection;
using txbox::store::OpenPurpose;
using txbox::store::wal_readers;
using txbox::test::AppDatabase;
using txbox::test::TempDir;

namespace {

struct File {
  File() : path(dir.file("a.db")), app(path), watcher(open_watcher()) {
    app.run("PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = OFF");
  }
  Connection open_watcher() {
    txbox::store::install(app, {});
    auto connection = Connection::open(path, {.purpose = OpenPurpose::relay});
    static_cast<void>(txbox::store::read_identity(connection.handle()));
    return connection;
  }
  void grow() { app.run("INSERT INTO outbox(topic, payload) VALUES ('t', zeroblob(900000))"); }
  [[nodiscard]] std::int64_t wal_bytes() const {
    return static_cast<std::int64_t>(std::filesystem::file_size(path + "-wal"));
  }

  TempDir dir;
  std::string path;
  AppDatabase app;
  Connection watcher;
};

}  // namespace

TEST_CASE("an open transaction pins what is committed after it began, and is found in the process that has it") {
  File file;
  AppDatabase reader(file.path);
  CHECK(wal_readers(file.watcher, 1).empty());
  reader.run("BEGIN; SELECT count(*) FROM outbox");
  const std::int64_t before = file.wal_bytes();
  CHECK(wal_readers(file.watcher, 1).empty());  // It reads the newest there is.
  file.grow();
  const auto readers = wal_readers(file.watcher, 1);
  REQUIRE(readers.size() == 1);
  CHECK(readers[0].pid == ::getpid());
  CHECK(readers[0].is_us);
  CHECK_FALSE(readers[0].program.empty());
  CHECK(readers[0].pinned_bytes == file.wal_bytes() - before);
  CHECK(wal_readers(file.watcher, readers[0].pinned_bytes + 1).empty());
  reader.run("COMMIT");
  CHECK(wal_readers(file.watcher, 1).empty());
}

TEST_CASE("who reads the database file alone pins a WAL that was begun anew behind it") {
  File file;
  file.grow();
  file.app.run("PRAGMA wal_checkpoint(TRUNCATE)");
  AppDatabase reader(file.path);
  reader.run("BEGIN; SELECT count(*) FROM outbox");
  file.grow();
  const auto readers = wal_readers(file.watcher, 1);
  REQUIRE(readers.size() == 1);
  // All but the WAL's own header of 32 bytes.
  CHECK(readers[0].pinned_bytes == file.wal_bytes() - 32);
  reader.run("COMMIT");
}

TEST_CASE("looking closes nothing: SQLite's locks in this process stay") {
  File file;
  AppDatabase reader(file.path);
  reader.run("BEGIN; SELECT count(*) FROM outbox");
  file.grow();
  for (int i = 0; i < 3; ++i) CHECK(wal_readers(file.watcher, 1).size() == 1);
  CHECK(file.app.number("PRAGMA wal_checkpoint(RESTART)") == 1);
  reader.run("COMMIT");
  CHECK(file.app.number("PRAGMA wal_checkpoint(RESTART)") == 0);
}
