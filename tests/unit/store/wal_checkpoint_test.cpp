#include <filesystem>

#include <doctest/doctest.h>

#include <txbox/store/schema.hpp>
#include <txbox/store/wal_checkpoint.hpp>

#include "support/app_database.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

using namespace std::chrono_literals;
using txbox::ErrorCode;
using txbox::SteadyTime;
using txbox::store::WalCheckpoint;
using txbox::test::AppDatabase;
using txbox::test::code_of;
using txbox::test::TempDir;
using Outcome = WalCheckpoint::Outcome;

namespace {

/// An application that never checkpoints, with a WAL above the limit.
struct LargeWal {
  LargeWal() : path(dir.file("a.db")), app(path) {
    txbox::store::install(app, {});
    app.run("PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = OFF");
    grow();
  }
  void grow() {
    app.run(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)"
        " INSERT INTO outbox(topic, payload) SELECT 't', zeroblob(900000) FROM n");
  }
  [[nodiscard]] std::uintmax_t wal_bytes() const { return std::filesystem::file_size(path + "-wal"); }

  TempDir dir;
  std::string path;
  AppDatabase app;
};

constexpr SteadyTime kStart{1h};

}  // namespace

TEST_CASE("a small WAL is left to the application") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  txbox::store::install(app, {});
  WalCheckpoint checkpoint(dir.file("a.db"));
  CHECK(checkpoint.run(kStart).outcome == Outcome::not_due);
}

TEST_CASE("a WAL above the limit is copied back and emptied") {
  LargeWal file;
  WalCheckpoint checkpoint(file.path);
  const auto result = checkpoint.run(kStart);
  CHECK(result.outcome == Outcome::done);
  CHECK(result.wal_bytes > WalCheckpoint::kWalBytesWanted);
  CHECK(file.wal_bytes() == 0);
  CHECK(checkpoint.run(kStart).outcome == Outcome::not_due);
}

TEST_CASE("beside a writer it gives up without copying, and backs off from 1 s to 60 s") {
  LargeWal file;
  WalCheckpoint checkpoint(file.path);
  file.app.run("BEGIN IMMEDIATE");
  SteadyTime now = kStart;
  CHECK(checkpoint.run(now).outcome == Outcome::busy);
  CHECK(checkpoint.run(now + 999ms).outcome == Outcome::not_due);
  for (const auto wait : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    now += wait;
    CHECK(checkpoint.run(now - 1ms).outcome == Outcome::not_due);
    CHECK(checkpoint.run(now).outcome == Outcome::busy);
  }
  file.app.run("COMMIT");
  // Nothing was copied behind the writer's back: all of the WAL is still to be done.
  CHECK(file.app.text("SELECT file FROM pragma_database_list") == file.path);
  CHECK(std::filesystem::file_size(file.path) < 1'000'000);
  CHECK(checkpoint.run(now + 60s).outcome == Outcome::done);
  file.grow();
  CHECK(checkpoint.run(now + 60s).outcome == Outcome::done);
}

TEST_CASE("a reader with an old snapshot pins the WAL, and the writer is not kept waiting") {
  LargeWal file;
  AppDatabase reader(file.path);
  reader.run("BEGIN; SELECT count(*) FROM outbox");
  file.grow();
  WalCheckpoint checkpoint(file.path);
  CHECK(checkpoint.run(kStart).outcome == Outcome::pinned);
  CHECK(file.app.attempt("INSERT INTO outbox(topic) VALUES ('t')").empty());
  reader.run("COMMIT");
  CHECK(checkpoint.run(kStart + 1s).outcome == Outcome::done);
}

TEST_CASE("nothing is copied into a file that was moved") {
  LargeWal file;
  WalCheckpoint checkpoint(file.path);
  std::filesystem::rename(file.path, file.path + ".away");
  CHECK(code_of([&] { checkpoint.run(kStart); }) == ErrorCode::moved);
}
