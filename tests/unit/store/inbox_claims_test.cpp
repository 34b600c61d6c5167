#include <string>

#include <doctest/doctest.h>

#include <txbox/store/inbox_claims.hpp>
#include <txbox/store/inbox_store.hpp>

#include "support/expect_error.hpp"
#include "support/inbox_database.hpp"

using txbox::ErrorCode;
using txbox::store::InboxClaim;
using txbox::store::InboxClaims;
using txbox::test::code_of;
using txbox::test::error_of;
using txbox::test::InboxDatabase;
using txbox::test::InboxSide;

TEST_CASE("the first claim of an event is first, every later one a duplicate, also after a new start") {
  InboxDatabase file;
  auto& inbox = file.side.inbox;
  inbox.begin();
  CHECK(inbox.claim("one", {file.place, 7}) == InboxClaim::first);
  CHECK(inbox.claim("one", {file.place, 8}) == InboxClaim::duplicate);
  CHECK_FALSE(file.side.any_statement_busy());
  inbox.commit();
  CHECK(file.app.text("SELECT consumer_group || ' ' || event_id || ' ' || topic || ' ' || partition || ' ' || offset ||"
                      " ' ' || parked || ' ' || epoch FROM inbox") == "billing one orders 3 7 0 0");
  CHECK(file.app.number("SELECT abs(processed_at - strftime('%s', 'now') * 1000) < 60000 FROM inbox") == 1);
  CHECK(file.app.text("SELECT cluster_id FROM inbox JOIN inbox_cluster ON number = cluster") == "c1");

  InboxSide next_life(file.path);
  next_life.inbox.begin();
  CHECK(next_life.inbox.claim("one", {file.place, 7}) == InboxClaim::duplicate);
  CHECK(next_life.inbox.claim("two", {file.place, 9}) == InboxClaim::first);
  next_life.inbox.rollback();
  CHECK(file.app.number("SELECT count(*) FROM inbox") == 1);
}

TEST_CASE("groups claim apart, clusters do not: an event that a mirrored topic brings again is a duplicate") {
  InboxDatabase file;
  InboxSide audit(file.path, "audit");
  for (InboxSide* side : {&file.side, &audit}) {
    side->inbox.begin();
    CHECK(side->inbox.claim("one", {file.place, 7}) == InboxClaim::first);
    side->inbox.commit();
  }
  file.side.inbox.use_cluster("mirror");
  file.side.inbox.begin();
  CHECK(file.side.inbox.claim("one", {file.place, 0}) == InboxClaim::duplicate);
  file.side.inbox.rollback();
}

TEST_CASE("an event that was given up is claimed as parked before, until a copy of it is applied") {
  InboxDatabase file;
  auto& inbox = file.side.inbox;
  inbox.begin();
  inbox.claim_parked("poison", {file.place, 7});
  CHECK(inbox.claim("poison", {file.place, 8}) == InboxClaim::parked_before);
  inbox.commit();
  CHECK(file.app.text("SELECT parked || ' ' || offset FROM inbox") == "1 7");

  inbox.begin();
  CHECK(inbox.claim("poison", {{"orders.retry", 0}, 2}) == InboxClaim::parked_before);
  inbox.claim_parked("poison", {file.place, 9});  // It failed again.
  CHECK(inbox.claim("poison", {file.place, 9}) == InboxClaim::parked_before);
  file.side.handle("UPDATE inbox SET processed_at = 1700000000000");
  inbox.settle_parked("poison", {{"orders.retry", 0}, 2});
  CHECK(inbox.claim("poison", {file.place, 10}) == InboxClaim::duplicate);
  inbox.commit();
  CHECK_FALSE(file.side.any_statement_busy());
  CHECK(file.app.text("SELECT parked || ' ' || topic || ' ' || partition || ' ' || offset FROM inbox") ==
        "0 orders.retry 0 2");
  CHECK(file.app.number("SELECT processed_at FROM inbox") > 1'700'000'000'000);
}

TEST_CASE("what was applied stays applied: giving a copy up or settling it changes nothing") {
  InboxDatabase file;
  auto& inbox = file.side.inbox;
  inbox.begin();
  CHECK(inbox.claim("one", {file.place, 7}) == InboxClaim::first);
  inbox.claim_parked("one", {file.place, 8});
  inbox.settle_parked("one", {file.place, 9});
  inbox.settle_parked("never seen", {file.place, 9});
  CHECK(inbox.claim("one", {file.place, 8}) == InboxClaim::duplicate);
  inbox.commit();
  CHECK(file.app.text("SELECT group_concat(event_id || parked || offset) FROM inbox") == "one07");
}

TEST_CASE("an id that cannot name an event is refused, and the batch lives on") {
  InboxDatabase file;
  auto& inbox = file.side.inbox;
  inbox.begin();
  CHECK(inbox.claim("good", {file.place, 1}) == InboxClaim::first);
  for (const std::string& id : {std::string(), std::string(256, 'x'), std::string("a\0b", 3)}) {
    const auto error = error_of([&] { (void)inbox.claim(id, {file.place, 2}); });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::refused);
    CHECK(error->transaction_alive());
    CHECK(code_of([&] { inbox.claim_parked(id, {file.place, 2}); }) == ErrorCode::refused);
    CHECK_FALSE(file.side.any_statement_busy());
  }
  CHECK(inbox.claim(std::string(255, 'x'), {file.place, 3}) == InboxClaim::first);
  CHECK(inbox.claim("\xff\xfe not UTF-8", {file.place, 4}) == InboxClaim::first);
  CHECK(inbox.claim("\xff\xfe not UTF-8", {file.place, 5}) == InboxClaim::duplicate);
  inbox.commit();
  CHECK(file.app.number("SELECT count(*) FROM inbox") == 3);
}

TEST_CASE("plain SQL and plain claims see a parked event as seen before, and leave it parked") {
  InboxDatabase file;
  file.side.inbox.begin();
  file.side.inbox.claim_parked("poison", {file.place, 7});
  file.side.inbox.commit();

  InboxClaims claims(file.app, "billing");
  file.app.run("BEGIN IMMEDIATE");
  CHECK_FALSE(claims.claim("poison"));
  file.app.run("INSERT INTO inbox(consumer_group, event_id) VALUES ('billing', 'poison') ON CONFLICT DO NOTHING");
  CHECK(sqlite3_changes(file.app) == 0);
  file.app.run("COMMIT");
  CHECK(file.app.number("SELECT parked FROM inbox") == 1);
}

TEST_CASE("a claim counts what it did alone, whatever an application's trigger on the inbox does") {
  InboxDatabase file;
  file.app.run("CREATE TRIGGER mine AFTER INSERT ON inbox BEGIN INSERT INTO effect VALUES (1), (2); END");
  file.app.run("CREATE TEMP TABLE t(x)");
  auto& inbox = file.side.inbox;
  file.side.handle("CREATE TEMP TABLE inbox(consumer_group, event_id, parked)");  // A shadow: main is meant.
  inbox.begin();
  CHECK(inbox.claim("one", {file.place, 1}) == InboxClaim::first);
  CHECK(inbox.claim("one", {file.place, 1}) == InboxClaim::duplicate);
  inbox.commit();
  CHECK(file.app.number("SELECT count(*) FROM effect") == 2);
  CHECK(file.app.number("SELECT count(*) FROM main.inbox") == 1);
}

TEST_CASE("a group's name, a missing inbox and an altered one are refused at once") {
  InboxDatabase file;
  for (const std::string& group : {std::string(), std::string(256, 'g'), std::string("a\0b", 3)}) {
    CHECK(code_of([&] { InboxSide(file.path, group); }) == ErrorCode::invalid_argument);
  }
  const std::string bare = file.dir.file("bare.db");
  CHECK(code_of([&] { InboxSide side(bare); }) == ErrorCode::not_installed);
  file.app.run("DROP TRIGGER inbox_guard");
  CHECK(code_of([&] { InboxSide side(file.path); }) == ErrorCode::schema_differs);
}
