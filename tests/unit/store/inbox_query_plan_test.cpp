#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <txbox/store/inbox_queries.hpp>
#include <txbox/store/schema.hpp>
#include <txbox/store/statement.hpp>

#include "inbox_query_sql.hpp"
#include "support/app_database.hpp"
#include "support/temp_dir.hpp"

namespace store = txbox::store;
namespace sql = txbox::store::sql;
using txbox::test::AppDatabase;

namespace {

constexpr std::string_view kStatements[] = {
    sql::kNextInboxGroup, sql::kNextClaimGroup, sql::kInboxGroupIsKnown, sql::kCountClaims,
    sql::kCountGivenUp,   sql::kCountParked,    sql::kCountSuspects,     sql::kSumPartitions,
    sql::kListPartitions, sql::kListSuspects,   sql::kNameOfCluster,     sql::kClaimsBelow,
    sql::kClaimOfGroup,   sql::kNewestParked,   sql::kParkedRow,         sql::kParkedPayload};

/// Every table of the inbox is entered by a SEARCH; what a query has put together itself is walked.
void expect_no_walk(sqlite3* db) {
  for (const std::string_view text : kStatements) {
    CAPTURE(text);
    store::Statement plan(db, "EXPLAIN QUERY PLAN " + std::string(text));
    while (plan.step()) {
      const std::string detail(plan.column_text(3));
      CAPTURE(detail);
      CHECK((detail.rfind("SCAN inbox", 0) != 0));
      // The ids of parked messages are put in order; claims never are.
      CHECK((detail.find("TEMP B-TREE") == std::string::npos || text == sql::kNewestParked));
    }
  }
}

void fill(AppDatabase& app, int count) {
  const std::string numbers =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " + std::to_string(count) + ") ";
  app.run(numbers +
          "INSERT OR IGNORE INTO inbox(consumer_group, event_id, topic) SELECT 'billing', 'e' || i, 't'"
          " FROM n");
}

/// Steps of SQLite's machine that a call takes.
template <typename Call>
std::int64_t steps_of(sqlite3* db, Call call) {
  std::int64_t steps = 0;
  sqlite3_progress_handler(
      db, 1,
      [](void* counter) {
        ++*static_cast<std::int64_t*>(counter);
        return 0;
      },
      &steps);
  call();
  sqlite3_progress_handler(db, 0, nullptr, nullptr);
  return steps;
}

}  // namespace

TEST_CASE("no question about the inbox walks a table, before and after ANALYZE") {
  const txbox::test::TempDir dir;
  AppDatabase app(dir.file("billing.db"));
  store::install(app, {});
  expect_no_walk(app);
  fill(app, 3'000);
  app.run(
      "INSERT INTO inbox_offsets(consumer_group, cluster, topic, partition, next_offset, updated_at) SELECT"
      " 'billing', 1, 't', rowid_.value, 1, 1 FROM (SELECT 0 AS value UNION SELECT 1) AS rowid_");
  app.run(
      "INSERT INTO inbox_parked(consumer_group, cluster, topic, partition, offset, timestamp, reason, parked_at)"
      " VALUES ('billing', 1, 't', 0, 1, -1, 'no', 1)");
  app.run("ANALYZE");
  AppDatabase fresh(dir.file("billing.db"));
  expect_no_walk(fresh);
}

TEST_CASE("status, a page of claims and one event cost the same after ten times the claims") {
  const txbox::test::TempDir dir;
  AppDatabase app(dir.file("billing.db"));
  store::install(app, {});
  const auto costs = [&app] {
    std::vector<std::int64_t> steps;
    steps.push_back(steps_of(app, [&] { store::list_inbox_groups(app, {.group = {}}, [](const auto&) {}); }));
    steps.push_back(
        steps_of(app, [&] { store::list_inbox_claims(app, {.group = "billing", .topic = {}}, [](const auto&) {}); }));
    steps.push_back(steps_of(app, [&] { return store::find_inbox_event(app, "e77", false); }));
    return steps;
  };
  fill(app, 20'000);
  const auto before = costs();
  fill(app, 200'000);
  const auto after = costs();
  for (std::size_t at = 0; at < before.size(); ++at) {
    CAPTURE(at);
    CHECK(after[at] <= before[at] + 20);
  }
}
