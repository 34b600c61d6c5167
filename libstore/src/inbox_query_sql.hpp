#pragma once

#include <string_view>

/// What people ask of the inbox's tables. Each statement goes by a primary key's prefix or by the index that it names;
/// tests/unit/store/inbox_query_plan_test.cpp holds them to it.
namespace txbox::store::sql {

// The next group's name above ?1, four looks at the ends of b-trees. x'' sorts above every text, which leaves out names
// that are blobs: none is ours, and the walk would not get past one.
inline constexpr std::string_view kNextInboxGroup = R"(
SELECT min(consumer_group) FROM (
  SELECT * FROM (SELECT consumer_group FROM inbox WHERE consumer_group > ?1 AND consumer_group < x''
    ORDER BY consumer_group LIMIT 1)
  UNION ALL SELECT * FROM (SELECT consumer_group FROM inbox_offsets WHERE consumer_group > ?1 AND consumer_group < x''
    ORDER BY consumer_group LIMIT 1)
  UNION ALL SELECT * FROM (SELECT consumer_group FROM inbox_attempts WHERE consumer_group > ?1 AND consumer_group < x''
    ORDER BY consumer_group LIMIT 1)
  UNION ALL SELECT * FROM (SELECT consumer_group FROM inbox_parked WHERE consumer_group > ?1 AND consumer_group < x''
    ORDER BY consumer_group LIMIT 1)))";
// The next group that has claims.
inline constexpr std::string_view kNextClaimGroup = R"(
SELECT consumer_group FROM inbox WHERE consumer_group > ?1 AND consumer_group < x'' ORDER BY consumer_group LIMIT 1)";
inline constexpr std::string_view kInboxGroupIsKnown = R"(
SELECT EXISTS (SELECT 1 FROM inbox WHERE consumer_group = ?1)
  OR EXISTS (SELECT 1 FROM inbox_offsets WHERE consumer_group = ?1)
  OR EXISTS (SELECT 1 FROM inbox_attempts WHERE consumer_group = ?1)
  OR EXISTS (SELECT 1 FROM inbox_parked WHERE consumer_group = ?1))";

// Primary key: ?3 claims of the group above event id ?2.
inline constexpr std::string_view kCountClaims = R"(
SELECT count(*), max(processed_at), max(event_id) FROM (SELECT event_id, processed_at FROM inbox
  WHERE consumer_group = ?1 AND event_id > ?2 ORDER BY event_id LIMIT ?3))";
// Partial index: holds nothing but what was given up.
inline constexpr std::string_view kCountGivenUp =
    "SELECT count(*) FROM inbox INDEXED BY inbox_given_up WHERE consumer_group = ?1 AND parked = 1";
inline constexpr std::string_view kCountParked = "SELECT count(*) FROM inbox_parked WHERE consumer_group = ?1";
inline constexpr std::string_view kCountSuspects = "SELECT count(*) FROM inbox_attempts WHERE consumer_group = ?1";
inline constexpr std::string_view kSumPartitions =
    "SELECT count(*), sum(clean = 0), max(updated_at) FROM inbox_offsets WHERE consumer_group = ?1";
inline constexpr std::string_view kListPartitions = R"(
SELECT cluster, topic, partition, next_offset, clean, reset_to, assignment, updated_at FROM inbox_offsets
  WHERE consumer_group = ?1 ORDER BY cluster, topic, partition LIMIT ?2)";
inline constexpr std::string_view kListSuspects = R"(
SELECT cluster, topic, partition, offset, started, failed, last_error, next_try_at, updated_at FROM inbox_attempts
  WHERE consumer_group = ?1 ORDER BY cluster, topic, partition, offset LIMIT ?2)";
inline constexpr std::string_view kNameOfCluster = "SELECT cluster_id FROM inbox_cluster WHERE number = ?1";

// Primary key, from its end: ?3 claims of the group below ?2, where x'' stands for the end.
inline constexpr std::string_view kClaimsBelow = R"(
SELECT event_id, cluster, topic, partition, offset, processed_at, parked, epoch FROM inbox
  WHERE consumer_group = ?1 AND event_id < ?2 ORDER BY event_id DESC LIMIT ?3)";
inline constexpr std::string_view kClaimOfGroup = R"(
SELECT event_id, cluster, topic, partition, offset, processed_at, parked, epoch FROM inbox
  WHERE consumer_group = ?1 AND event_id = ?2)";

// The unique index, which holds all that is asked for: messages with their payloads are not touched.
inline constexpr std::string_view kNewestParked = R"(
SELECT id FROM inbox_parked INDEXED BY sqlite_autoindex_inbox_parked_1
  WHERE consumer_group = ?1 AND (?2 IS NULL OR topic = ?2) ORDER BY id DESC LIMIT ?3)";
inline constexpr std::string_view kParkedRow = R"(
SELECT id, consumer_group, event_id, cluster, topic, partition, offset, key, attempts, reason, parked_at, replayed_at,
  timestamp FROM inbox_parked WHERE id = ?1)";
inline constexpr std::string_view kParkedPayload = "SELECT headers, payload FROM inbox_parked WHERE id = ?1";
// Walks the table: its event ids have no index. They stand before the payload, so that only first pages are read.
inline constexpr std::string_view kParkedOfEvent =
    "SELECT id FROM inbox_parked WHERE event_id = ?1 ORDER BY id LIMIT ?2";

}  // namespace txbox::store::sql
