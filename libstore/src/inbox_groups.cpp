#include <algorithm>

#include <txbox/store/inbox_queries.hpp>
#include <txbox/store/statement.hpp>

#include "cluster_names.hpp"
#include "inbox_query_sql.hpp"
#include "snapshot.hpp"

namespace txbox::store {

namespace {

/// With very many groups each is counted less far, so that the whole answer stays quick.
constexpr std::int64_t kClaimsCountedInAll = 100'000;
constexpr std::int64_t kLeastCounted = 100;
/// Claims that one statement counts when all of them are.
constexpr std::int64_t kClaimsPerStep = 50'000;

/// The names of all groups, at most one more than are told about.
std::vector<std::string> group_names(sqlite3* db) {
  const Snapshot snapshot(db);
  Statement next(db, sql::kNextInboxGroup);
  std::vector<std::string> names;
  while (static_cast<std::int64_t>(names.size()) <= kMostInboxGroups) {
    const std::string above = names.empty() ? std::string() : names.back();
    const ResetGuard guard(next);
    next.bind(1, std::string_view(above));
    if (!next.step() || next.column_is_null(0)) break;
    names.emplace_back(next.column_text(0));
  }
  return names;
}

bool is_known(sqlite3* db, const std::string& group) {
  Statement known(db, sql::kInboxGroupIsKnown);
  known.bind(1, std::string_view(group));
  return known.step() && known.column_int64(0) != 0;
}

class GroupReader {
 public:
  GroupReader(sqlite3* db, const InboxGroupQuery& query, std::int64_t claims_counted)
      : db_(db),
        query_(query),
        claims_counted_(claims_counted),
        clusters_(db),
        claims_(db, sql::kCountClaims),
        given_up_(db, sql::kCountGivenUp),
        parked_(db, sql::kCountParked),
        suspects_(db, sql::kCountSuspects),
        partitions_(db, sql::kSumPartitions),
        list_partitions_(db, sql::kListPartitions),
        list_suspects_(db, sql::kListSuspects) {}

  InboxGroup read(const std::string& name) {
    InboxGroup group;
    group.group = name;
    {
      const Snapshot snapshot(db_);
      if (!query_.count_all_claims) count_claims(group, claims_counted_);
      group.given_up = count(given_up_, name);
      group.parked_messages = count(parked_, name);
      group.suspects = count(suspects_, name);
      sum_partitions(group);
      if (query_.with_details) {
        list_partitions(group);
        list_suspects(group);
      }
    }
    if (query_.count_all_claims) count_claims(group, std::nullopt);
    return group;
  }

 private:
  static std::int64_t count(Statement& statement, const std::string& name) {
    const ResetGuard guard(statement);
    statement.bind(1, std::string_view(name));
    return statement.step() ? statement.column_int64(0) : 0;
  }

  /// In steps, each one statement; up to `limit`, or all of them.
  void count_claims(InboxGroup& group, std::optional<std::int64_t> limit) {
    std::string last;
    // One more than the limit is looked for: it says that there are more.
    const std::int64_t step = limit ? *limit + 1 : kClaimsPerStep;
    for (std::int64_t counted = step; counted == step && group.claims_exact;) {
      const std::string above = last;
      const ResetGuard guard(claims_);
      claims_.bind(1, std::string_view(group.group)).bind(2, std::string_view(above)).bind(3, step);
      if (!claims_.step()) return;
      counted = claims_.column_int64(0);
      group.claims += counted;
      if (counted == 0) return;
      const std::int64_t newest = claims_.column_int64(1);
      group.newest_claim_at_ms = std::max(group.newest_claim_at_ms.value_or(newest), newest);
      last = claims_.column_text(2);
      if (limit && group.claims > *limit) {
        group.claims = *limit;
        group.claims_exact = false;
        group.newest_claim_at_ms.reset();
      }
    }
  }

  void sum_partitions(InboxGroup& group) {
    const ResetGuard guard(partitions_);
    partitions_.bind(1, std::string_view(group.group));
    if (!partitions_.step()) return;
    group.partitions = partitions_.column_int64(0);
    group.in_hand = partitions_.column_int64(1);
    group.updated_at_ms = partitions_.column_optional(2);
  }

  void list_partitions(InboxGroup& group) {
    Statement& row = list_partitions_;
    const ResetGuard guard(row);
    row.bind(1, std::string_view(group.group)).bind(2, kMostPartitionsListed);
    while (row.step()) {
      InboxPartition partition;
      partition.cluster_id = clusters_.of(row.column_int64(0));
      partition.topic = row.column_text(1);
      partition.partition = row.column_int64(2);
      partition.next_offset = row.column_int64(3);
      partition.clean = row.column_int64(4) != 0;
      // A negative one says that no reset is outstanding.
      if (row.column_int64(5) >= 0) partition.reset_to = row.column_optional(5);
      partition.assignment = row.column_int64(6);
      partition.updated_at_ms = row.column_int64(7);
      group.partition_list.push_back(std::move(partition));
    }
  }

  void list_suspects(InboxGroup& group) {
    Statement& row = list_suspects_;
    const ResetGuard guard(row);
    row.bind(1, std::string_view(group.group)).bind(2, kMostSuspectsListed);
    while (row.step()) {
      InboxSuspect suspect;
      suspect.cluster_id = clusters_.of(row.column_int64(0));
      suspect.topic = row.column_text(1);
      suspect.partition = row.column_int64(2);
      suspect.offset = row.column_int64(3);
      suspect.started = row.column_int64(4);
      suspect.failed = row.column_int64(5);
      if (!row.column_is_null(6)) suspect.last_error.emplace(row.column_text(6));
      suspect.next_try_at_ms = row.column_optional(7);
      suspect.updated_at_ms = row.column_int64(8);
      group.suspect_list.push_back(std::move(suspect));
    }
  }

  sqlite3* db_;
  const InboxGroupQuery& query_;
  std::int64_t claims_counted_;
  ClusterNames clusters_;
  Statement claims_;
  Statement given_up_;
  Statement parked_;
  Statement suspects_;
  Statement partitions_;
  Statement list_partitions_;
  Statement list_suspects_;
};

}  // namespace

bool list_inbox_groups(sqlite3* db, const InboxGroupQuery& query, const std::function<void(const InboxGroup&)>& each) {
  std::vector<std::string> names;
  if (!query.group) {
    names = group_names(db);
  } else if (is_known(db, *query.group)) {
    names.push_back(*query.group);
  }
  const bool more = static_cast<std::int64_t>(names.size()) > kMostInboxGroups;
  if (more) names.pop_back();
  if (names.empty()) return false;
  const auto share = kClaimsCountedInAll / static_cast<std::int64_t>(names.size());
  GroupReader reader(db, query, std::clamp(share, kLeastCounted, kClaimsCounted));
  for (const std::string& name : names) each(reader.read(name));
  return more;
}

}  // namespace txbox::store
