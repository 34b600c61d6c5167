#include <map>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <txbox/store/statement.hpp>

#include "inbox_sql.hpp"
#include "support/inbox_database.hpp"

using txbox::store::InboxClaim;
using txbox::store::Statement;
using txbox::test::InboxDatabase;
using txbox::test::InboxSide;
namespace sql = txbox::store::sql;

namespace {

const std::string_view kStatements[] = {
    sql::kClaimEvent,      sql::kIsParkedClaim,       sql::kSettleParkedClaim, sql::kInboxPosition,
    sql::kTakePlace,       sql::kGiveUpPlace,         sql::kAdvance,           sql::kAttemptsFrom,
    sql::kRecordStarted,   sql::kRecordFailed,        sql::kTakeBackStarted,   sql::kForgetUntried,
    sql::kForgetAttempts,  sql::kForgetAttemptsBelow, sql::kParkMessage,       sql::kFindInboxCluster,
    sql::kAddInboxCluster,
};

void expect_keys_only(sqlite3* db) {
  for (const std::string_view text : kStatements) {
    CAPTURE(text);
    Statement plan(db, "EXPLAIN QUERY PLAN " + std::string(text));
    while (plan.step()) {
      const std::string step(plan.column_text(3));
      CAPTURE(step);
      CHECK(step.rfind("SEARCH ", 0) == 0);
      CHECK(step.find("TEMP B-TREE") == std::string::npos);
    }
  }
}

void add_claims(InboxDatabase& file, const std::string& prefix, int rows) {
  file.app.run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " + std::to_string(rows) +
               ") INSERT INTO inbox(consumer_group, event_id, parked) SELECT 'billing', '" + prefix +
               "' || i, i % 100 = 0 FROM n");
}

/// Steps of SQLite's machine that a call takes.
template <typename Call>
std::int64_t steps_of(InboxSide& side, Call call) {
  std::int64_t steps = 0;
  const auto count = [](void* counter) {
    ++*static_cast<std::int64_t*>(counter);
    return 0;
  };
  sqlite3_progress_handler(side.connection.handle(), 1, count, &steps);
  call();
  sqlite3_progress_handler(side.connection.handle(), 0, nullptr, nullptr);
  return steps;
}

}  // namespace

TEST_CASE("every statement of the consumer's side finds its rows by key, before and after ANALYZE") {
  InboxDatabase file;
  expect_keys_only(file.app);
  add_claims(file, "e", 3000);
  file.side.take(file.place, 0);
  file.app.run("ANALYZE");
  InboxSide fresh(file.path);
  expect_keys_only(fresh.connection.handle());
}

TEST_CASE("a message costs the same after two hundred times the history, and a duplicate one look more") {
  InboxDatabase file;
  file.side.take(file.place, 0);
  std::int64_t offset = 0;
  const auto message = [&] {
    std::map<std::string, std::int64_t> steps;
    InboxSide& side = file.side;
    const std::string event_id = "new" + std::to_string(offset);
    const auto claim = [&] { CHECK(side.inbox.claim(event_id, {file.place, offset}) == InboxClaim::first); };
    const auto again = [&] { CHECK(side.inbox.claim(event_id, {file.place, offset}) == InboxClaim::duplicate); };
    side.inbox.begin();
    steps["claim"] = steps_of(side, claim);
    steps["duplicate"] = steps_of(side, again);
    steps["savepoint"] = steps_of(side, [&] {
      side.inbox.savepoint();
      side.inbox.release();
    });
    steps["advance"] = steps_of(side, [&] { CHECK(side.inbox.advance(file.place, offset, offset + 1)); });
    side.inbox.commit();
    ++offset;
    return steps;
  };
  add_claims(file, "few", 20);
  message();
  const auto before = message();
  add_claims(file, "many", 4000);
  const auto after = message();
  for (const auto& [statement, steps] : before) {
    const std::string what(statement);
    CAPTURE(what);
    CHECK(steps < 200);
    CHECK(after.at(statement) == steps);
  }
  CHECK(before.at("duplicate") < before.at("claim") + 30);
}
