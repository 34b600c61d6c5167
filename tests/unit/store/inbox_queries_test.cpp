#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <txbox/store/inbox_queries.hpp>
#include <txbox/store/schema.hpp>

#include "support/app_database.hpp"
#include "support/temp_dir.hpp"

namespace store = txbox::store;
using store::InboxClaimFilter;
using store::InboxClaimRow;
using store::InboxGroup;
using store::InboxGroupQuery;
using store::InboxParkedFilter;
using store::InboxParkedRow;
using txbox::Bytes;

namespace {

/// A consumer's file, without an outbox.
struct InboxFile {
  InboxFile() : app(dir.file("billing.db")) { store::install(app, {.outbox = false}); }

  /// Claims event-1 ... event-<count>, of topic orders; the time rises as the number falls.
  void claim(const std::string& group, int count) {
    app.run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " + std::to_string(count) +
            ") INSERT INTO inbox(consumer_group, event_id, cluster, topic, partition, offset, processed_at) SELECT '" +
            group + "', printf('event-%08d', i), 1, 'orders', i % 3, i, 1700000000000 - i FROM n");
  }
  void park(const std::string& values) {
    app.run(
        "INSERT INTO inbox_parked(consumer_group, cluster, topic, partition, offset, event_id, key, payload, headers,"
        " timestamp, attempts, reason, parked_at) VALUES (" +
        values + ")");
  }
  std::vector<InboxGroup> groups(const InboxGroupQuery& query = {}) {
    std::vector<InboxGroup> found;
    more = store::list_inbox_groups(app, query, [&](const InboxGroup& group) {
      CHECK(at_rest());
      found.push_back(group);
    });
    CHECK(at_rest());
    return found;
  }
  std::vector<InboxClaimRow> claims(const InboxClaimFilter& filter) {
    std::vector<InboxClaimRow> found;
    store::list_inbox_claims(app, filter, [&](const InboxClaimRow& claim) {
      CHECK(at_rest());
      found.push_back(claim);
    });
    return found;
  }
  std::vector<std::string> claim_ids(const InboxClaimFilter& filter) {
    std::vector<std::string> ids;
    for (const InboxClaimRow& claim : claims(filter)) ids.push_back(claim.event_id);
    return ids;
  }
  std::vector<InboxParkedRow> parked(const InboxParkedFilter& filter) {
    std::vector<InboxParkedRow> found;
    store::list_inbox_parked(app, filter, [&](const InboxParkedRow& row) {
      CHECK(at_rest());
      found.push_back(row);
    });
    return found;
  }
  /// No statement and no snapshot stays open while a caller writes to its terminal.
  bool at_rest() { return !app.any_statement_busy() && sqlite3_txn_state(app, nullptr) == SQLITE_TXN_NONE; }

  txbox::test::TempDir dir;
  txbox::test::AppDatabase app;
  bool more = false;
};

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("an inbox that nobody used has no groups, claims or parked messages") {
  InboxFile file;
  CHECK(file.groups().empty());
  CHECK(file.groups({.group = "billing"}).empty());
  CHECK(file.claims({.group = "billing", .topic = {}}).empty());
  CHECK(file.claims({.group = "billing", .topic = {}, .by_time = true}).empty());
  CHECK(file.parked({.group = "billing", .topic = {}}).empty());
  const auto event = store::find_inbox_event(file.app, "event-1", true);
  CHECK(event.claims.empty());
  CHECK(event.parked.empty());
  CHECK_FALSE(event.more);
}

TEST_CASE("a group is found by whatever table knows it, once and by name") {
  InboxFile file;
  file.claim("claims", 1);
  file.claim("all", 1);
  file.app.run(
      "INSERT INTO inbox_offsets(consumer_group, cluster, topic, partition, next_offset, updated_at) VALUES"
      " ('offsets', 1, 't', 0, 5, 1), ('all', 1, 't', 0, 5, 1)");
  file.app.run(
      "INSERT INTO inbox_attempts(consumer_group, cluster, topic, partition, offset, updated_at) VALUES"
      " ('attempts', 1, 't', 0, 5, 1), ('all', 1, 't', 0, 5, 1)");
  file.park("'parked', 1, 't', 0, 5, NULL, NULL, NULL, NULL, -1, 1, 'no id', 1");
  file.park("'all', 1, 't', 0, 5, NULL, NULL, NULL, NULL, -1, 1, 'no id', 1");
  Ids names;
  for (const InboxGroup& group : file.groups()) names.push_back(group.group);
  CHECK(names == Ids{"all", "attempts", "claims", "offsets", "parked"});
  for (const std::string& name : names) CHECK(file.groups({.group = name}).size() == 1);
  CHECK(file.groups({.group = "al"}).empty());
}

TEST_CASE("a group's numbers are those of its own rows, and its partitions come with their cluster's name") {
  InboxFile file;
  file.claim("billing", 5);
  file.claim("other", 7);
  file.app.run("UPDATE inbox SET parked = 1 WHERE consumer_group = 'billing' AND offset < 3");
  file.app.run("INSERT INTO inbox_cluster(number, cluster_id) VALUES (1, 'prod-1')");
  file.app.run(
      "INSERT INTO inbox_offsets(consumer_group, cluster, topic, partition, next_offset, clean, reset_to,"
      " assignment, updated_at) VALUES ('billing', 1, 'orders', 1, 9223372036854775807, 0, NULL, 0, 1700000000002),"
      " ('billing', 1, 'orders', 0, 12, 1, 3, 4, 1700000000001), ('billing', 2, 'orders', 0, 0, 1, -1, 1, 1)");
  file.app.run(
      "INSERT INTO inbox_attempts(consumer_group, cluster, topic, partition, offset, started, failed,"
      " last_error, next_try_at, updated_at) VALUES ('billing', 1, 'orders', 1, 41, 1, 2, 'no such account',"
      " 1700000005000, 1700000000003), ('billing', 1, 'orders', 0, 12, 1, 0, NULL, NULL, 1700000000004)");
  file.park("'billing', 1, 'orders', 0, 5, 'event-1', NULL, NULL, NULL, -1, 5, 'no', 1700000000000");
  const auto groups = file.groups({.group = "billing", .with_details = true});
  REQUIRE(groups.size() == 1);
  const InboxGroup& group = groups.front();
  CHECK(group.claims == 5);
  CHECK(group.claims_exact);
  CHECK(group.newest_claim_at_ms == 1699999999999);
  CHECK(group.given_up == 2);
  CHECK(group.parked_messages == 1);
  CHECK(group.suspects == 2);
  CHECK(group.partitions == 3);
  CHECK(group.in_hand == 1);
  CHECK(group.updated_at_ms == 1700000000002);
  REQUIRE(group.partition_list.size() == 3);
  const auto& first = group.partition_list.at(0);
  CHECK(first.cluster_id == "prod-1");
  CHECK(first.partition == 0);
  CHECK(first.next_offset == 12);
  CHECK(first.clean);
  CHECK(first.reset_to == 3);
  CHECK(first.assignment == 4);
  CHECK(group.partition_list.at(1).next_offset == std::numeric_limits<std::int64_t>::max());
  CHECK_FALSE(group.partition_list.at(1).clean);
  CHECK_FALSE(group.partition_list.at(2).cluster_id.has_value());
  CHECK_FALSE(group.partition_list.at(2).reset_to.has_value());
  REQUIRE(group.suspect_list.size() == 2);
  CHECK_FALSE(group.suspect_list.at(0).last_error.has_value());
  const auto& retried = group.suspect_list.at(1);
  CHECK(retried.offset == 41);
  CHECK(retried.started == 1);
  CHECK(retried.failed == 2);
  CHECK(retried.last_error == "no such account");
  CHECK(retried.next_try_at_ms == 1700000005000);
  const auto summary = file.groups({.group = "billing"});
  CHECK(summary.at(0).partition_list.empty());
  CHECK(summary.at(0).suspect_list.empty());
  CHECK(summary.at(0).partitions == 3);
}

TEST_CASE("claims are counted up to a limit, and all of them where that is asked for") {
  InboxFile file;
  file.claim("exact", static_cast<int>(store::kClaimsCounted));
  file.claim("many", 120'000);
  file.app.run("INSERT INTO inbox(consumer_group, event_id, processed_at) VALUES ('many', 'event-x', 1800000000000)");
  const auto quick = file.groups();
  REQUIRE(quick.size() == 2);
  CHECK(quick[0].claims == store::kClaimsCounted);
  CHECK(quick[0].claims_exact);
  CHECK(quick[1].claims == store::kClaimsCounted);
  CHECK_FALSE(quick[1].claims_exact);
  CHECK_FALSE(quick[1].newest_claim_at_ms.has_value());
  const auto counted = file.groups({.group = {}, .count_all_claims = true});
  CHECK(counted[0].claims == store::kClaimsCounted);
  CHECK(counted[1].claims == 120'001);
  CHECK(counted[1].claims_exact);
  CHECK(counted[1].newest_claim_at_ms == 1800000000000);
}

TEST_CASE("a file with a group for every message is answered with as many as there may be") {
  InboxFile file;
  file.app.run(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) INSERT INTO"
      " inbox(consumer_group, event_id) SELECT printf('group-%05d', i), 'e' FROM n");
  const auto groups = file.groups();
  CHECK(static_cast<std::int64_t>(groups.size()) == store::kMostInboxGroups);
  CHECK(file.more);
  CHECK(groups.back().group == "group-01000");
  const auto event = store::find_inbox_event(file.app, "e", false);
  CHECK(static_cast<std::int64_t>(event.claims.size()) == store::kMostFound);
  CHECK(event.more);
}

TEST_CASE("names that are blobs, numbers or not UTF-8 stop no walk over the groups") {
  InboxFile file;
  file.app.run(
      "INSERT INTO inbox_offsets(consumer_group, cluster, topic, partition, next_offset, updated_at) VALUES"
      " (x'6200', 1, 't', 0, 5, 1), (x'ff', 1, 't', 0, 5, 1), (17, 1, 't', 0, 5, 1),"
      " (CAST(x'c328' AS TEXT), 1, 't', 0, 5, 1), ('', 1, 't', 0, 5, 1)");
  Ids names;
  for (const InboxGroup& group : file.groups()) names.push_back(group.group);
  CHECK(names == Ids{"17", "\xc3\x28"});
}

TEST_CASE("claims are listed from the highest event id down, or from the newest, by topic and limit") {
  InboxFile file;
  file.claim("billing", 600);
  file.claim("other", 3);
  file.app.run("INSERT INTO inbox(consumer_group, event_id, processed_at) VALUES ('billing', 'a', 1800000000000)");
  file.app.run(
      "INSERT INTO inbox(consumer_group, event_id, topic, parked, epoch, processed_at) VALUES ('billing', 'b',"
      " 'bills', 1, 2, 1600000000000)");
  InboxClaimFilter filter{.group = "billing", .topic = {}};
  filter.limit = 2;
  CHECK(file.claim_ids(filter) == Ids{"event-00000600", "event-00000599"});
  filter.by_time = true;
  CHECK(file.claim_ids(filter) == Ids{"a", "event-00000001"});
  filter.limit = std::numeric_limits<std::int64_t>::max();
  CHECK(file.claim_ids(filter).size() == 602);
  CHECK(file.claim_ids(filter).back() == "b");
  filter.by_time = false;
  CHECK(file.claim_ids(filter).size() == 602);
  CHECK(file.claim_ids(filter).back() == "a");
  filter.topic = "bills";
  CHECK(file.claim_ids(filter) == Ids{"b"});
  filter.topic = "' OR 1";
  CHECK(file.claim_ids(filter).empty());
  filter.topic = "orders";
  filter.limit = 300;
  CHECK(file.claim_ids(filter).size() == 300);
  filter.limit = 0;
  CHECK(file.claim_ids(filter).empty());

  const auto plain = store::find_inbox_event(file.app, "a", false).claims.at(0);
  CHECK_FALSE(plain.topic.has_value());
  CHECK_FALSE(plain.cluster_id.has_value());
  CHECK_FALSE(plain.offset.has_value());
  CHECK_FALSE(plain.given_up);
  const auto given_up = store::find_inbox_event(file.app, "b", false).claims.at(0);
  CHECK(given_up.given_up);
  CHECK(given_up.epoch == 2);
  CHECK(given_up.processed_at_ms == 1600000000000);
}

TEST_CASE("a topic is found however many claims of others stand before it") {
  InboxFile file;
  file.claim("billing", 45'000);
  file.app.run("UPDATE inbox SET topic = 'bills' WHERE offset IN (3, 20000, 44000)");
  CHECK(file.claim_ids({.group = "billing", .topic = "bills"}) ==
        Ids{"event-00044000", "event-00020000", "event-00000003"});
  CHECK(file.claim_ids({.group = "billing", .topic = "bills", .by_time = true}) ==
        Ids{"event-00000003", "event-00020000", "event-00044000"});
}

TEST_CASE("parked messages are listed whole, the newest first, and payloads only where asked for") {
  InboxFile file;
  file.app.run("INSERT INTO inbox_cluster(number, cluster_id) VALUES (1, 'prod-1')");
  file.park("'billing', 1, 'orders', 0, 5, 'event-1', x'ff00', x'00', '[[\"a\",null]]', 1690000000000, 5, 'no', 1");
  file.park("'billing', 1, 'bills', 0, 5, NULL, NULL, NULL, NULL, -1, 1, 'no id', 2");
  file.park("'other', 1, 'orders', 0, 5, 'event-1', '', '', NULL, -1, 1, 'no', 3");
  file.app.run("UPDATE inbox_parked SET replayed_at = 9 WHERE id = 2");
  auto rows = file.parked({.group = "billing", .topic = {}});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].id == 2);
  CHECK(rows[0].replayed_at_ms == 9);
  CHECK_FALSE(rows[0].event_id.has_value());
  CHECK(rows[0].key.is_null());
  CHECK_FALSE(rows[0].timestamp_ms.has_value());
  CHECK(rows[1].cluster_id == "prod-1");
  CHECK(rows[1].key == Bytes(std::string_view("\xff\0", 2)));
  CHECK(rows[1].attempts == 5);
  CHECK(rows[1].reason == "no");
  CHECK(rows[1].timestamp_ms == 1690000000000);
  CHECK(rows[1].payload.is_null());
  CHECK(rows[1].headers.is_null());
  rows = file.parked({.group = "billing", .topic = "orders", .with_payload = true});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].payload == Bytes(std::string_view("\0", 1)));
  CHECK(rows[0].headers == Bytes("[[\"a\",null]]"));
  CHECK(file.parked({.group = "billing", .topic = {}, .limit = 1}).at(0).id == 2);

  const auto event = store::find_inbox_event(file.app, "event-1", true);
  REQUIRE(event.parked.size() == 2);
  CHECK(event.parked[0].group == "billing");
  CHECK(event.parked[1].payload == Bytes(""));
}

TEST_CASE("an event is found in every group that claimed it") {
  InboxFile file;
  for (const char* group : {"c", "a", "b"}) file.claim(group, 3);
  file.claim("d", 1);
  Ids groups;
  for (const InboxClaimRow& claim : store::find_inbox_event(file.app, "event-00000002", false).claims) {
    groups.push_back(claim.group);
    CHECK(claim.partition == 2);
  }
  CHECK(groups == Ids{"a", "b", "c"});
  CHECK(file.at_rest());
}
