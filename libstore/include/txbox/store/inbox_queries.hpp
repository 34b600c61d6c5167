#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <txbox/base/bytes.hpp>

struct sqlite3;

namespace txbox::store {

/// What stands in the inbox's tables, as people and dashboards ask for it: on any connection that reads, one thread a
/// connection, after verify_inbox_schema() or verify_boxes(). Nothing is written, and no statement stays open while a
/// callback runs. Every call may throw busy or corrupt.
///
/// Claims are as many as the messages of a whole window, millions, and have no index but (group, event id). So a
/// count of claims stops at a limit unless all of them are asked for, and every walk over claims goes in steps, each a
/// snapshot of its own: what is claimed meanwhile may or may not be seen, and no step pins the WAL for long.

/// At most so many groups are told about; a file has a few.
inline constexpr std::int64_t kMostInboxGroups = 1'000;
/// Partitions and suspects that are listed one by one; the counts beside them are of all.
inline constexpr std::int64_t kMostPartitionsListed = 2'000;
inline constexpr std::int64_t kMostSuspectsListed = 100;
/// How far the claims of a group are counted; less where there are more than ten groups.
inline constexpr std::int64_t kClaimsCounted = 10'000;
/// Claims and parked messages of one event that are found.
inline constexpr std::int64_t kMostFound = 100;

/// Where a consumer group stands in one partition. `clean`: it was given up in order. Not clean: a consumer has it in
/// hand, or ended in the middle; the file cannot tell which.
struct InboxPartition {
  std::optional<std::string> cluster_id;  ///< Null where inbox_cluster does not know the number.
  std::string topic;
  std::int64_t partition = 0;
  std::int64_t next_offset = 0;
  bool clean = false;
  std::optional<std::int64_t> reset_to;  ///< A person's reset of the group that was honoured last.
  std::int64_t assignment = 0;           ///< How often a consumer took the partition.
  std::int64_t updated_at_ms = 0;
};

/// A message that is retried, or that was in hand when a consumer ended in the middle.
struct InboxSuspect {
  std::optional<std::string> cluster_id;
  std::string topic;
  std::int64_t partition = 0;
  std::int64_t offset = 0;
  std::int64_t started = 0;  ///< Tries that were begun one by one, after an unclean stop.
  std::int64_t failed = 0;
  std::optional<std::string> last_error;
  std::optional<std::int64_t> next_try_at_ms;
  std::int64_t updated_at_ms = 0;
};

struct InboxGroup {
  std::string group;
  /// Claims of either kind: exact, or, where `claims_exact` is false, how far they were counted: there are more.
  std::int64_t claims = 0;
  bool claims_exact = true;
  /// The newest claim's time, only where all were counted.
  std::optional<std::int64_t> newest_claim_at_ms;
  std::int64_t given_up = 0;         ///< Claims of events that became dead letters. Exact, O(given up).
  std::int64_t parked_messages = 0;  ///< Dead letters kept whole in the file. Exact, O(parked).
  std::int64_t suspects = 0;         ///< Exact, O(suspects), as are the partitions.
  std::int64_t partitions = 0;
  std::int64_t in_hand = 0;                    ///< Partitions that are not clean.
  std::optional<std::int64_t> updated_at_ms;   ///< When a position last moved.
  std::vector<InboxPartition> partition_list;  ///< With details: by cluster, topic, partition; at most
                                               ///< kMostPartitionsListed.
  std::vector<InboxSuspect> suspect_list;      ///< With details: in the same order; at most kMostSuspectsListed.
};

struct InboxGroupQuery {
  std::optional<std::string> group;  ///< Only this one.
  bool with_details = false;
  bool count_all_claims = false;  ///< Costs a walk over every claim: about a second for two million, and their pages.
};
/// Calls `each` for every group that any of the tables knows, by name; memory is that of one group and all the names.
/// A group's numbers are of one snapshot, but for claims that are all counted. True when there are more groups than
/// kMostInboxGroups.
bool list_inbox_groups(sqlite3* db, const InboxGroupQuery& query, const std::function<void(const InboxGroup&)>& each);

/// One claim. Where it came from is null for claims of the plain SQL contract.
struct InboxClaimRow {
  std::string group;
  std::string event_id;
  std::optional<std::string> cluster_id;
  std::optional<std::string> topic;
  std::optional<std::int64_t> partition;
  std::optional<std::int64_t> offset;
  std::int64_t processed_at_ms = 0;
  bool given_up = false;   ///< Else it was applied.
  std::int64_t epoch = 0;  ///< The newest replay that applied it; 0: the ordinary run.
};

struct InboxClaimFilter {
  std::string group;
  std::optional<std::string> topic;  ///< Has no index: the group's claims are walked until `limit` match.
  /// False: by event id, the highest first, which for ids that txbox made is the newest first; costs what is shown.
  /// True: the newest first by processed_at; walks every claim of the group and keeps `limit` rows in memory.
  bool by_time = false;
  std::int64_t limit = 100;
};
void list_inbox_claims(sqlite3* db, const InboxClaimFilter& filter,
                       const std::function<void(const InboxClaimRow&)>& each);

/// A dead letter that is kept whole in the file.
struct InboxParkedRow {
  std::int64_t id = 0;
  std::string group;
  std::optional<std::string> event_id;  ///< Null for a message that had none.
  std::optional<std::string> cluster_id;
  std::string topic;
  std::int64_t partition = 0;
  std::int64_t offset = 0;
  Bytes key;
  std::int64_t attempts = 0;
  std::string reason;
  std::int64_t parked_at_ms = 0;
  std::optional<std::int64_t> replayed_at_ms;
  std::optional<std::int64_t> timestamp_ms;  ///< Of the record, where it had one.
  Bytes headers;                             ///< JSON pairs. With the payload only, as the payload.
  Bytes payload;
};

struct InboxParkedFilter {
  std::string group;
  std::optional<std::string> topic;
  std::int64_t limit = 100;
  bool with_payload = false;
};
/// The newest first. Choosing walks an index over the group's parked messages and keeps 8 bytes for each that is shown;
/// with payloads one message is in memory at a time.
void list_inbox_parked(sqlite3* db, const InboxParkedFilter& filter,
                       const std::function<void(const InboxParkedRow&)>& each);

/// What all consumer groups did with one event.
struct InboxEvent {
  std::vector<InboxClaimRow> claims;   ///< By group.
  std::vector<InboxParkedRow> parked;  ///< The oldest first.
  bool more = false;                   ///< There are more than kMostFound of either.
};
/// Two looks at an index for each group, and a walk over parked messages without their payloads, which have no index by
/// event id.
[[nodiscard]] InboxEvent find_inbox_event(sqlite3* db, const std::string& event_id, bool with_payload);

}  // namespace txbox::store
