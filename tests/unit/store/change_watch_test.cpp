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

namespace {

bool readable(const ChangeWatch& watch) {
  struct pollfd entry {
    .fd = watch.descriptor(), .events = POLLIN, .revents = 0
  };
  return ::poll(&entry, 1, 5000) == 1;
}

}  // namespace

TEST_CASE("a commit by another connection wakes, and once drained it is quiet") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  txbox::store::install(app, {});
  ChangeWatch watch(dir.file("a.db"));
  REQUIRE(watch.descriptor() >= 0);
  CHECK_FALSE(watch.drain());
  app.run("INSERT INTO outbox(topic) VALUES ('t')");
  REQUIRE(readable(watch));
  CHECK(watch.drain());
  CHECK_FALSE(watch.drain());
}

TEST_CASE("reading does not wake") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  txbox::store::install(app, {});
  ChangeWatch watch(dir.file("a.db"));
  CHECK(app.number("SELECT count(*) FROM outbox") == 0);
  CHECK_FALSE(watch.drain());
}

TEST_CASE("other files of the folder are passed over, and the database's own replacement is not") {
  const TempDir dir;
  { AppDatabase app(dir.file("a.db")); }
  ChangeWatch watch(dir.file("a.db"));
  std::ofstream(dir.file("other.txt")) << "x";
  REQUIRE(readable(watch));
  CHECK_FALSE(watch.drain());
  std::filesystem::rename(dir.file("a.db"), dir.file("b.db"));
  CHECK(watch.drain());
}

TEST_CASE("through a symlink the folder of the file itself is watched") {
  const TempDir dir;
  const TempDir elsewhere;
  AppDatabase app(dir.file("a.db"));
  txbox::store::install(app, {});
  std::filesystem::create_symlink(dir.file("a.db"), elsewhere.file("link.db"));
  ChangeWatch watch(elsewhere.file("link.db"));
  app.run("INSERT INTO outbox(topic) VALUES ('t')");
  CHECK(watch.drain());
}

TEST_CASE("a folder that is not there leaves the timers alone") {
  ChangeWatch watch("/no/such/folder/a.db");
  CHECK(watch.descriptor() == -1);
  CHECK_FALSE(watch.drain());
}
