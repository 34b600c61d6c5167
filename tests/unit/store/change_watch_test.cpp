#include <poll.h>

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include <txbox/store/change_watch.hpp>
#include <txbox/store/schema.hpp>

#include "support/app_database.hpp"
#include "support/temp_dir.hpp"

using txbox::store::ChangeWatch;
using txbox::test::AppDatabase;
using txbox::test::TempDir;
using Numbers = std::vector<ChangeWatch::Number>;

namespace {

bool readable(const ChangeWatch& watch) {
  struct pollfd entry {
    .fd = watch.descriptor(), .events = POLLIN, .revents = 0
  };
  return ::poll(&entry, 1, 5000) == 1;
}

ChangeWatch::Changes drained(ChangeWatch& watch) {
  ChangeWatch::Changes changes;
  watch.drain(changes);
  return changes;
}

void make_file(const std::string& path) { std::ofstream(path) << "x"; }

}  // namespace

TEST_CASE("a commit by another connection wakes, and once drained it is quiet") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  txbox::store::install(app, {});
  ChangeWatch watch;
  REQUIRE(watch.descriptor() >= 0);
  REQUIRE(watch.add(dir.file("a.db"), 7));
  CHECK(drained(watch).touched.empty());
  app.run("INSERT INTO outbox(topic) VALUES ('t')");
  REQUIRE(readable(watch));
  CHECK(drained(watch).touched == Numbers{7});
  CHECK(drained(watch).touched.empty());
}

TEST_CASE("reading does not wake") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  txbox::store::install(app, {});
  ChangeWatch watch;
  watch.add(dir.file("a.db"), 0);
  CHECK(app.number("SELECT count(*) FROM outbox") == 0);
  CHECK(drained(watch).touched.empty());
}

TEST_CASE("of many databases in one folder only the one that was written to is told, once") {
  const TempDir dir;
  AppDatabase first(dir.file("a.db"));
  AppDatabase second(dir.file("a.db2"));
  txbox::store::install(first, {});
  txbox::store::install(second, {});
  ChangeWatch watch;
  watch.add(dir.file("a.db"), 1);
  watch.add(dir.file("a.db2"), 2);
  second.run("INSERT INTO outbox(topic) VALUES ('t')");
  second.run("INSERT INTO outbox(topic) VALUES ('t')");
  CHECK(drained(watch).touched == Numbers{2});
  watch.remove(2);
  second.run("INSERT INTO outbox(topic) VALUES ('t')");
  first.run("INSERT INTO outbox(topic) VALUES ('t')");
  CHECK(drained(watch).touched == Numbers{1});
}

TEST_CASE("other files of the folder are passed over, and the database's own replacement is not") {
  const TempDir dir;
  { AppDatabase app(dir.file("a.db")); }
  ChangeWatch watch;
  watch.add(dir.file("a.db"), 3);
  make_file(dir.file("other.txt"));
  REQUIRE(readable(watch));
  const auto other = drained(watch);
  CHECK(other.touched.empty());
  CHECK_FALSE(other.appeared);
  std::filesystem::rename(dir.file("a.db"), dir.file("b.db"));
  const auto moved = drained(watch);
  CHECK(moved.touched == Numbers{3});
  CHECK(moved.replaced == Numbers{3});
}

TEST_CASE("a folder that was asked for tells of its new files, but not of those that stand for a database") {
  const TempDir dir;
  { AppDatabase app(dir.file("a.db")); }
  ChangeWatch watch;
  watch.add(dir.file("a.db"), 0);
  REQUIRE(watch.add_folder(dir.path()));
  make_file(dir.file("a.db-wal"));
  make_file(dir.file("b.db-wal"));
  CHECK_FALSE(drained(watch).appeared);
  make_file(dir.file("b.db"));
  CHECK(drained(watch).appeared);
  CHECK_FALSE(drained(watch).appeared);
}

TEST_CASE("the end of a folder touches all that was in it") {
  const TempDir dir;
  std::filesystem::create_directory(dir.file("tenant"));
  make_file(dir.file("tenant/a.db"));
  ChangeWatch watch;
  watch.add(dir.file("tenant/a.db"), 4);
  std::filesystem::rename(dir.file("tenant"), dir.file("gone"));
  CHECK(drained(watch).replaced == Numbers{4});
}

TEST_CASE("through a symlink the folder of the file itself is watched") {
  const TempDir dir;
  const TempDir elsewhere;
  AppDatabase app(dir.file("a.db"));
  txbox::store::install(app, {});
  std::filesystem::create_symlink(dir.file("a.db"), elsewhere.file("link.db"));
  ChangeWatch watch;
  watch.add(elsewhere.file("link.db"), 5);
  app.run("INSERT INTO outbox(topic) VALUES ('t')");
  CHECK(drained(watch).touched == Numbers{5});
}

TEST_CASE("a folder that is not there leaves the timers alone") {
  ChangeWatch watch;
  CHECK_FALSE(watch.add("/no/such/folder/a.db", 0));
  CHECK_FALSE(watch.add_folder("/no/such/folder"));
  CHECK(drained(watch).touched.empty());
}
