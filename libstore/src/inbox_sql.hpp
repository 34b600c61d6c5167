#pragma once

#include <string_view>

/// The statements of the consumer's side. All that are asked for a message or a batch find their rows by a table's own
/// key or add one; tests/unit/store/inbox_store_plan_test.cpp asks the planner about each. `main.` everywhere: on this
/// connection the application's handlers run, and a TEMP table or an ATTACHed file may carry the same name.
namespace txbox::store::sql {

// Claims, by (consumer_group, event_id). The INSERT comes first; only its conflict is looked at.
inline constexpr std::string_view kClaimEvent = R"(
INSERT INTO main.inbox(consumer_group, event_id, parked, cluster, topic, partition, offset, processed_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING)";
inline constexpr std::string_view kIsParkedClaim =
    "SELECT parked FROM main.inbox WHERE consumer_group = ?1 AND event_id = ?2";
// The row then speaks of the record that was applied: prune compares its time and its offset.
inline constexpr std::string_view kSettleParkedClaim = R"(
UPDATE main.inbox SET parked = 0, cluster = ?3, topic = ?4, partition = ?5, offset = ?6, processed_at = ?7
  WHERE consumer_group = ?1 AND event_id = ?2 AND parked = 1)";

// Positions, by (consumer_group, cluster, topic, partition).
inline constexpr std::string_view kInboxPosition = R"(
SELECT next_offset, clean, reset_to, assignment FROM main.inbox_offsets
  WHERE consumer_group = ?1 AND cluster = ?2 AND topic = ?3 AND partition = ?4)";
inline constexpr std::string_view kTakePlace = R"(
INSERT INTO main.inbox_offsets(consumer_group, cluster, topic, partition, next_offset, reset_to, assignment, updated_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7)
  ON CONFLICT DO UPDATE SET next_offset = excluded.next_offset, reset_to = excluded.reset_to, clean = 0,
    assignment = assignment + 1, updated_at = excluded.updated_at)";
inline constexpr std::string_view kGiveUpPlace = R"(
UPDATE main.inbox_offsets SET clean = ?8, updated_at = ?7
  WHERE consumer_group = ?1 AND cluster = ?2 AND topic = ?3 AND partition = ?4
    AND next_offset = ?5 AND assignment = ?6)";
// The compare-and-set.
inline constexpr std::string_view kAdvance = R"(
UPDATE main.inbox_offsets SET next_offset = ?6, updated_at = ?7
  WHERE consumer_group = ?1 AND cluster = ?2 AND topic = ?3 AND partition = ?4 AND next_offset = ?5)";

// Attempts, by (consumer_group, cluster, topic, partition, offset).
inline constexpr std::string_view kAttemptsFrom = R"(
SELECT offset, started, failed, next_try_at, last_error, updated_at FROM main.inbox_attempts
  WHERE consumer_group = ?1 AND cluster = ?2 AND topic = ?3 AND partition = ?4 AND offset >= ?5
  ORDER BY offset LIMIT ?6)";
inline constexpr std::string_view kRecordStarted = R"(
INSERT INTO main.inbox_attempts(consumer_group, cluster, topic, partition, offset, started, updated_at)
  VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6)
  ON CONFLICT DO UPDATE SET started = started + 1, updated_at = excluded.updated_at)";
// ?9 is 1 where this try was recorded as started: it has ended, so it counts as a failed one only.
inline constexpr std::string_view kRecordFailed = R"(
INSERT INTO main.inbox_attempts(consumer_group, cluster, topic, partition, offset, failed, next_try_at, last_error,
    updated_at)
  VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7, ?8)
  ON CONFLICT DO UPDATE SET started = max(started - ?9, 0), failed = failed + 1, next_try_at = excluded.next_try_at,
    last_error = excluded.last_error, updated_at = excluded.updated_at)";
inline constexpr std::string_view kTakeBackStarted = R"(
UPDATE main.inbox_attempts SET started = started - 1, updated_at = ?6
  WHERE consumer_group = ?1 AND cluster = ?2 AND topic = ?3 AND partition = ?4 AND offset = ?5 AND started > 0)";
inline constexpr std::string_view kForgetUntried = R"(
DELETE FROM main.inbox_attempts
  WHERE consumer_group = ?1 AND cluster = ?2 AND topic = ?3 AND partition = ?4 AND offset = ?5
    AND started = 0 AND failed = 0)";
inline constexpr std::string_view kForgetAttempts = R"(
DELETE FROM main.inbox_attempts
  WHERE consumer_group = ?1 AND cluster = ?2 AND topic = ?3 AND partition = ?4 AND offset = ?5)";
inline constexpr std::string_view kForgetAttemptsBelow = R"(
DELETE FROM main.inbox_attempts
  WHERE consumer_group = ?1 AND cluster = ?2 AND topic = ?3 AND partition = ?4 AND offset < ?5)";

// A record that is parked again (its group was reset) has failed again: the newer reason stands, and whatever was
// replayed of it before did not help.
inline constexpr std::string_view kParkMessage = R"(
INSERT INTO main.inbox_parked(consumer_group, cluster, topic, partition, offset, event_id, key, payload, headers,
    timestamp, attempts, reason, parked_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
  ON CONFLICT(consumer_group, cluster, topic, partition, offset, timestamp) DO UPDATE SET
    attempts = excluded.attempts, reason = excluded.reason, parked_at = excluded.parked_at, replayed_at = NULL)";

inline constexpr std::string_view kFindInboxCluster = "SELECT number FROM main.inbox_cluster WHERE cluster_id = ?1";
inline constexpr std::string_view kAddInboxCluster =
    "INSERT INTO main.inbox_cluster(cluster_id) VALUES (?1) ON CONFLICT DO NOTHING";

}  // namespace txbox::store::sql
