#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <txbox/inbox/inbox.hpp>

#include "support/app_database.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

using txbox::ErrorCode;
using txbox::inbox::Claim;
using txbox::inbox::Inbox;
using txbox::inbox::install;
using txbox::test::AppDatabase;
using txbox::test::error_of;
using txbox::test::TempDir;

namespace {

struct Billing {
  TempDir dir;
  AppDatabase app{dir.file("billing.db")};
  Billing() {
    app.run("CREATE TABLE effects(event_id TEXT)");
    install(app);
  }
  /// The handler's whole transaction, as in the README.
  Claim handle(Inbox& inbox, const std::string& event_id) {
    app.run("BEGIN IMMEDIATE");
    const Claim claim = inbox.claim(event_id);
    if (claim == Claim::first) app.run("INSERT INTO effects VALUES ('" + event_id + "')");
    app.run("COMMIT");
    return claim;
  }
};

}  // namespace

TEST_CASE("an effect happens once however often its message comes") {
  Billing billing;
  Inbox inbox(billing.app, "billing");
  CHECK(billing.handle(inbox, "one") == Claim::first);
  for (int round = 0; round < 5; ++round) CHECK(billing.handle(inbox, "one") == Claim::duplicate);
  CHECK(billing.handle(inbox, "two") == Claim::first);
  CHECK(billing.app.text("SELECT group_concat(event_id) FROM effects") == "one,two");
}

TEST_CASE("a claim that was rolled back never was") {
  Billing billing;
  Inbox inbox(billing.app, "billing");
  billing.app.run("BEGIN IMMEDIATE");
  CHECK(inbox.claim("one") == Claim::first);
  billing.app.run("ROLLBACK");
  CHECK(billing.handle(inbox, "one") == Claim::first);
}

TEST_CASE("groups claim each for itself") {
  Billing billing;
  Inbox billing_inbox(billing.app, "billing");
  Inbox audit_inbox(billing.app, "audit");
  CHECK(billing.handle(billing_inbox, "one") == Claim::first);
  CHECK(billing.handle(audit_inbox, "one") == Claim::first);
  CHECK(billing.handle(audit_inbox, "one") == Claim::duplicate);
}

TEST_CASE("plain SQL and the library see each other's claims") {
  Billing billing;
  Inbox inbox(billing.app, "billing");
  const std::string plain =
      "INSERT INTO inbox(consumer_group, event_id) VALUES ('billing', 'one') ON CONFLICT DO NOTHING";
  billing.app.run(plain);
  CHECK(sqlite3_changes(billing.app) == 1);
  CHECK(billing.handle(inbox, "one") == Claim::duplicate);
  billing.app.run(plain);
  CHECK(sqlite3_changes(billing.app) == 0);
}

TEST_CASE("an ordinary claim meets a claim of any epoch") {
  Billing billing;
  Inbox inbox(billing.app, "billing");
  billing.app.run("INSERT INTO inbox(consumer_group, event_id, epoch) VALUES ('billing', 'one', 3)");
  CHECK(billing.handle(inbox, "one") == Claim::duplicate);
}

TEST_CASE("an id that cannot name a message is refused, never folded with others") {
  Billing billing;
  Inbox inbox(billing.app, "billing");
  for (const std::string& id : {std::string(), std::string(256, 'x'), std::string("a\0b", 3)}) {
    billing.app.run("BEGIN IMMEDIATE");
    const auto error = error_of([&] { (void)inbox.claim(id); });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::refused);
    CHECK(std::string(error->what()).find("txbox: event_id") != std::string::npos);
    CHECK(error->transaction_alive());
    CHECK_FALSE(billing.app.any_statement_busy());
    CHECK(inbox.claim("good") == Claim::first);
    billing.app.run("ROLLBACK");
  }
  CHECK(billing.handle(inbox, std::string(255, 'x')) == Claim::first);
}

TEST_CASE("outside a transaction nothing is claimed") {
  Billing billing;
  Inbox inbox(billing.app, "billing");
  const auto error = error_of([&] { (void)inbox.claim("one"); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::no_transaction);
  CHECK(billing.app.number("SELECT count(*) FROM inbox") == 0);
}

TEST_CASE("a group's name has 1 to 255 bytes") {
  Billing billing;
  for (const std::string& group : {std::string(), std::string(256, 'g'), std::string("a\0", 2)}) {
    CHECK(error_of([&] { Inbox(billing.app, group); })->code() == ErrorCode::invalid_argument);
  }
  Inbox inbox(billing.app, std::string(255, 'g'));
  CHECK(billing.handle(inbox, "one") == Claim::first);
}

TEST_CASE("a missing, attached or altered inbox is refused") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  CHECK(error_of([&] { Inbox(app, "g"); })->code() == ErrorCode::not_installed);
  {
    AppDatabase boxes(dir.file("boxes.db"));
    install(boxes);
  }
  app.run("ATTACH '" + dir.file("boxes.db") + "' AS boxes");
  CHECK(error_of([&] { Inbox(app, "g"); })->code() == ErrorCode::attached_database);
  AppDatabase altered(dir.file("boxes.db"));
  altered.run("DROP TRIGGER inbox_guard");
  CHECK(error_of([&] { Inbox(altered, "g"); })->code() == ErrorCode::schema_differs);
}

TEST_CASE("a read-then-claim behind another commit asks for a new transaction") {
  Billing billing;
  Inbox inbox(billing.app, "billing");
  AppDatabase other(billing.dir.file("billing.db"));
  billing.app.run("BEGIN");
  CHECK(billing.app.number("SELECT count(*) FROM effects") == 0);
  other.run("INSERT INTO effects VALUES ('other')");
  CHECK(error_of([&] { (void)inbox.claim("one"); })->code() == ErrorCode::stale_snapshot);
  CHECK_FALSE(billing.app.any_statement_busy());
  billing.app.run("ROLLBACK");
}

TEST_CASE("last_insert_rowid stays the application's") {
  Billing billing;
  Inbox inbox(billing.app, "billing");
  billing.app.run("BEGIN IMMEDIATE; INSERT INTO effects(rowid, event_id) VALUES (777, 'x')");
  CHECK(inbox.claim("one") == Claim::first);
  CHECK(inbox.claim("one") == Claim::duplicate);
  CHECK(sqlite3_last_insert_rowid(billing.app) == 777);
  billing.app.run("COMMIT");
}

TEST_CASE("two workers that race for the same ids apply each once") {
  Billing billing;
  const auto work = [&] {
    AppDatabase app(billing.dir.file("billing.db"));
    sqlite3_busy_timeout(app, 60'000);
    Inbox inbox(app, "billing");
    for (int id = 0; id < 200; ++id) {
      app.run("BEGIN IMMEDIATE");
      if (inbox.claim(std::to_string(id)) == Claim::first)
        app.run("INSERT INTO effects VALUES (" + std::to_string(id) + ")");
      app.run("COMMIT");
    }
  };
  std::thread one(work);
  std::thread two(work);
  one.join();
  two.join();
  CHECK(billing.app.number("SELECT count(*) FROM effects") == 200);
  CHECK(billing.app.number("SELECT count(DISTINCT event_id) FROM effects") == 200);
}
