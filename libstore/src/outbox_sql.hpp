#pragma once

#include <string_view>

/// The statements of the relay's side. None may walk history: tests/unit/store/query_plan_test.cpp asks the
/// planner about each, and `id` in a comment below means a b-tree's own key.
namespace txbox::store::sql {

// What every read checks first: each value is one descent to the end of a b-tree. ?1 is the anchor.
inline constexpr std::string_view kSnapshotFacts = R"(
SELECT (SELECT max(id) FROM outbox), settled_through, pruned_through, (SELECT max(id) FROM outbox_sent),
  (SELECT max(id) FROM outbox_held), (SELECT nonce FROM outbox WHERE id = ?1) FROM outbox_progress)";

// The hot path: a range of ids.
inline constexpr std::string_view kReadAfter = R"(
SELECT id, nonce, event_id, topic, partition, key, payload, headers, created_at, deliver_at, as_is
  FROM outbox WHERE id > ?1 ORDER BY id)";
inline constexpr std::string_view kReadRow = R"(
SELECT id, nonce, event_id, topic, partition, key, payload, headers, created_at, deliver_at, as_is
  FROM outbox WHERE id = ?1)";
inline constexpr std::string_view kReceiptsBetween =
    "SELECT id, nonce FROM outbox_sent WHERE id >= ?1 AND id <= ?2 ORDER BY id";
inline constexpr std::string_view kHeldBetween = R"(
SELECT id, nonce, state, lane, attempts, redriven FROM outbox_held WHERE id >= ?1 AND id <= ?2 ORDER BY id)";

// Partial index on ready rows.
inline constexpr std::string_view kReadyAfter = R"(
SELECT id, nonce, lane, attempts, redriven FROM outbox_held INDEXED BY outbox_held_ready
  WHERE state = 'ready' AND id > ?1 AND id <= ?2 ORDER BY id)";
// Index (lane, id). A row that waits between ?2 and ?3 stands before the latter.
inline constexpr std::string_view kLaneBlockerBetween = R"(
SELECT id FROM outbox_held INDEXED BY outbox_held_lane
  WHERE lane = ?1 AND id > ?2 AND id < ?3 AND state NOT IN ('ready', 'skipped') ORDER BY id LIMIT 1)";
inline constexpr std::string_view kHeldLanes = R"(
SELECT lane, count(*), state IN ('parked', 'waiting'), min(id) FROM outbox_held INDEXED BY outbox_held_lane
  WHERE lane IS NOT NULL AND state <> 'skipped' GROUP BY lane)";  // With min(), `state` is that of the first row.
inline constexpr std::string_view kNewestDeed = "SELECT max(id) FROM txbox_audit";
inline constexpr std::string_view kNextDue =
    "SELECT min(due_at) FROM outbox_held INDEXED BY outbox_held_scheduled WHERE state = 'scheduled'";
inline constexpr std::string_view kWaitingTopics = R"(
SELECT DISTINCT o.topic FROM outbox_held AS h INDEXED BY outbox_held_waiting CROSS JOIN outbox AS o ON o.id = h.id
  WHERE h.state = 'waiting')";
// The primary key's range for what is not settled, the held rows, and the newest rows by the end of the primary key.
inline constexpr std::string_view kTopicsInUse = R"(
SELECT DISTINCT topic FROM (
  SELECT topic FROM outbox WHERE id > (SELECT settled_through FROM outbox_progress)
  UNION ALL SELECT o.topic FROM outbox_held AS h CROSS JOIN outbox AS o ON o.id = h.id WHERE h.state <> 'skipped'
  UNION ALL SELECT * FROM (SELECT topic FROM outbox ORDER BY id DESC LIMIT 1000))
ORDER BY topic LIMIT ?1)";
inline constexpr std::string_view kDataVersion = "PRAGMA data_version";
inline constexpr std::string_view kSchemaCookie = "PRAGMA schema_version";  // SQLite's own count of changes.
inline constexpr std::string_view kDeclaredVersion = "SELECT value FROM main.txbox_meta WHERE name = 'schema_version'";

// Marking.
inline constexpr std::string_view kMarkFacts = R"(
SELECT settled_through, pruned_through, (SELECT max(id) FROM outbox), (SELECT min(id) FROM outbox_held),
  (SELECT max(id) FROM outbox_held) FROM outbox_progress)";
inline constexpr std::string_view kNoncesBetween =
    "SELECT id, nonce FROM outbox WHERE id >= ?1 AND id <= ?2 ORDER BY id";
inline constexpr std::string_view kNonceOfRow = "SELECT nonce FROM outbox WHERE id = ?1";
inline constexpr std::string_view kInsertReceipt = R"(
INSERT INTO outbox_sent(id, nonce, cluster, partition, offset, sent_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
  ON CONFLICT(id) DO NOTHING)";
inline constexpr std::string_view kNonceOfReceipt = "SELECT nonce FROM outbox_sent WHERE id = ?1";
inline constexpr std::string_view kNonceOfHeld = "SELECT nonce FROM outbox_held WHERE id = ?1";
inline constexpr std::string_view kDropHeld = "DELETE FROM outbox_held WHERE id = ?1";
// A receipt wins (I3), and so does what a person decided: parked and skipped stay, until a person retries. A re-driven
// row whose lane was taken from it then gets none again, whatever the relay thinks of it; another one loses its lane
// where the relay lets the key go. A row without a lane cannot be blocked: no lane's release would ever come to it.
inline constexpr std::string_view kHold = R"(
INSERT INTO outbox_held(id, nonce, state, lane, attempts, due_at, last_error)
  SELECT ?1, ?2, CASE WHEN ?3 = 'blocked' AND ?4 IS NULL THEN 'ready' ELSE ?3 END, ?4, ?5, ?6, ?7
  WHERE NOT EXISTS (SELECT 1 FROM outbox_sent WHERE id = ?1)
  ON CONFLICT(id) DO UPDATE SET lane = CASE WHEN redriven AND lane IS NULL THEN NULL ELSE excluded.lane END,
    state = CASE WHEN excluded.state = 'blocked' AND (excluded.lane IS NULL OR redriven AND lane IS NULL)
      THEN 'ready' ELSE excluded.state END,
    attempts = max(attempts, excluded.attempts), due_at = excluded.due_at,
    last_error = coalesce(excluded.last_error, last_error)
  WHERE outbox_held.nonce = excluded.nonce
    AND (outbox_held.state IN ('blocked', 'ready', 'scheduled', 'waiting') OR outbox_held.state = excluded.state))";

// I5. Ids are whole numbers and receipts and held rows are counted once each: as many as the range is long means
// all of them. It costs a tenth of the exact question below, which is asked where ids are missing.
inline constexpr std::string_view kRaiseWhereFull = R"(
UPDATE outbox_progress SET settled_through = ?1 WHERE settled_through < ?1
  AND ?1 <= (SELECT max(id) FROM outbox) AND ?1 - settled_through =
  (SELECT count(*) FROM outbox_sent WHERE id > settled_through AND id <= ?1)
  + (SELECT count(*) FROM outbox_held AS h WHERE h.id > settled_through AND h.id <= ?1
    AND NOT EXISTS (SELECT 1 FROM outbox_sent AS s WHERE s.id = h.id)))";
inline constexpr std::string_view kRaiseWhereSettled = R"(
UPDATE outbox_progress SET settled_through = ?1 WHERE settled_through < ?1
  AND ?1 <= (SELECT max(id) FROM outbox)
  AND NOT EXISTS (SELECT 1 FROM outbox AS o WHERE o.id > settled_through AND o.id <= ?1
    AND NOT EXISTS (SELECT 1 FROM outbox_sent AS s WHERE s.id = o.id)
    AND NOT EXISTS (SELECT 1 FROM outbox_held AS h WHERE h.id = o.id)))";
inline constexpr std::string_view kSettledThrough = "SELECT settled_through FROM outbox_progress";
inline constexpr std::string_view kLaneIsHeld = R"(
SELECT 1 FROM outbox_held INDEXED BY outbox_held_lane WHERE lane = ?1 AND state <> 'skipped' LIMIT 1)";
inline constexpr std::string_view kFindCluster = "SELECT number FROM outbox_cluster WHERE cluster_id = ?1";
inline constexpr std::string_view kAddCluster = R"(
INSERT INTO outbox_cluster(number, cluster_id) SELECT coalesce(max(number), 0) + 1, ?1 FROM outbox_cluster)";

// Releasing: rows are walked in small steps, since one statement over a million rows would hold the lock for long.
inline constexpr std::string_view kReleaseDue = R"(
UPDATE outbox_held SET state = 'ready' WHERE id IN (SELECT id FROM outbox_held INDEXED BY outbox_held_scheduled
  WHERE state = 'scheduled' AND due_at <= ?1 ORDER BY due_at LIMIT ?2))";
inline constexpr std::string_view kWaitingOfTopic = R"(
SELECT h.id FROM outbox_held AS h INDEXED BY outbox_held_waiting CROSS JOIN outbox AS o ON o.id = h.id
  WHERE h.state = 'waiting' AND h.id > ?1 AND o.topic = ?2 ORDER BY h.id LIMIT ?3)";
inline constexpr std::string_view kLaneFromStart = R"(
SELECT id, state FROM outbox_held INDEXED BY outbox_held_lane WHERE lane = ?1 ORDER BY id)";
inline constexpr std::string_view kLaneBehind = R"(
SELECT id, state FROM outbox_held INDEXED BY outbox_held_lane WHERE lane = ?1 AND id > ?2 ORDER BY id)";
inline constexpr std::string_view kMakeBlocked = "UPDATE outbox_held SET state = 'blocked' WHERE id = ?1";
inline constexpr std::string_view kMakeReady = "UPDATE outbox_held SET state = 'ready' WHERE id = ?1";

// What people do. ?1 id, ?2 nonce prefix, ?3 lane.
inline constexpr std::string_view kStateOfHeld = "SELECT state, nonce FROM outbox_held WHERE id = ?1";
inline constexpr std::string_view kLaneOfHeld = "SELECT lane FROM outbox_held WHERE id = ?1";
inline constexpr std::string_view kParkByHand = R"(
INSERT INTO outbox_held(id, nonce, state, lane) SELECT ?1, ?2, 'parked', ?3
  WHERE NOT EXISTS (SELECT 1 FROM outbox_sent WHERE id = ?1)
  ON CONFLICT(id) DO UPDATE SET state = 'parked' WHERE state <> 'skipped')";
inline constexpr std::string_view kSkipByHand = R"(
INSERT INTO outbox_held(id, nonce, state, lane) SELECT ?1, ?2, 'skipped', ?3
  WHERE NOT EXISTS (SELECT 1 FROM outbox_sent WHERE id = ?1)
  ON CONFLICT(id) DO UPDATE SET state = 'skipped' WHERE state <> 'skipped')";
// A skipped row's key has gone on: the row that comes back has no place in the order any more, so no lane. One that
// stands behind another of its key waits for that, and is released with its key.
inline constexpr std::string_view kRetryByHand = R"(
UPDATE outbox_held SET lane = CASE WHEN state = 'skipped' THEN NULL ELSE lane END, redriven = 1,
  state = CASE WHEN state = 'parked' AND EXISTS (SELECT 1 FROM outbox_held AS b INDEXED BY outbox_held_lane
    WHERE b.lane = outbox_held.lane AND b.id < outbox_held.id AND b.state IN ('parked', 'blocked', 'waiting'))
    THEN 'blocked' ELSE 'ready' END
  WHERE id = ?1 AND state IN ('parked', 'skipped'))";
inline constexpr std::string_view kAudit =
    "INSERT INTO txbox_audit(who, action, event_id, detail) VALUES (?1, ?2, ?3, ?4)";

// Retention. ?1 begins, ?2 ends: the smaller of settled_through and max(id) - 1. What may go is looked for first, and
// judged once more under the write lock; where a held row stands beside a receipt (I3), neither goes.
inline constexpr std::string_view kReceiptsToPrune =
    "SELECT id, sent_at FROM outbox_sent WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3";
inline constexpr std::string_view kHeldToPrune =
    "SELECT id, state FROM outbox_held WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3";
inline constexpr std::string_view kSentMayGo = R"(
SELECT s.nonce, o.nonce, o.id IS NOT NULL FROM outbox_sent AS s LEFT JOIN outbox AS o ON o.id = s.id
  WHERE s.id = ?1 AND s.sent_at < ?2 AND NOT EXISTS (SELECT 1 FROM outbox_held AS h WHERE h.id = s.id))";
inline constexpr std::string_view kSkippedMayGo = R"(
SELECT h.nonce, o.nonce, 1 FROM outbox_held AS h CROSS JOIN outbox AS o ON o.id = h.id
  WHERE h.id = ?1 AND h.state = 'skipped' AND o.created_at < ?2
  AND NOT EXISTS (SELECT 1 FROM outbox_sent AS s WHERE s.id = h.id))";
inline constexpr std::string_view kDeleteRow = "DELETE FROM outbox WHERE id = ?1";
inline constexpr std::string_view kDeleteReceipt = "DELETE FROM outbox_sent WHERE id = ?1";
inline constexpr std::string_view kRaisePruned =
    "UPDATE outbox_progress SET pruned_through = ?1 WHERE pruned_through < ?1";
inline constexpr std::string_view kAutoVacuum = "PRAGMA auto_vacuum";
inline constexpr std::string_view kFreePages = "PRAGMA freelist_count";
inline constexpr std::string_view kPageSize = "PRAGMA page_size";
inline constexpr std::string_view kAllPages = "PRAGMA page_count";
inline constexpr std::string_view kIncrementalVacuum = "PRAGMA incremental_vacuum";
// How many ids at or below max(id) have no row any more: what lets `status` count without walking.
inline constexpr std::string_view kRemovedRows = R"(
SELECT coalesce((SELECT value FROM txbox_meta WHERE name = 'removed_rows'), (SELECT min(id) - 1 FROM outbox), 0))";
inline constexpr std::string_view kStoreRemovedRows = R"(
INSERT INTO txbox_meta(name, value) VALUES ('removed_rows', ?1)
  ON CONFLICT(name) DO UPDATE SET value = excluded.value)";

// Counting for `status`: one look at b-tree ends, one walk over what is held, and what lies above settled_through
// (in flight, at most the relay's window).
inline constexpr std::string_view kCountFacts = R"(
SELECT p.settled_through, coalesce((SELECT max(id) FROM outbox), 0),
  (SELECT count(*) FROM outbox_sent WHERE id > p.settled_through),
  coalesce((SELECT value FROM txbox_meta WHERE name = 'removed_rows'), (SELECT min(id) - 1 FROM outbox), 0)
  FROM outbox_progress AS p)";
inline constexpr std::string_view kCountHeld = R"(
SELECT sum(state = 'ready'), sum(state = 'scheduled'), sum(state = 'parked'), sum(state = 'blocked'),
  sum(state = 'waiting'), sum(state = 'skipped'), sum(id > ?1), count(*) FROM outbox_held)";
inline constexpr std::string_view kCountBlockedKeys =
    "SELECT count(DISTINCT lane) FROM outbox_held WHERE state IN ('parked', 'blocked')";
// Rows that the relay has not seen yet, by the partial index on deliver_at.
inline constexpr std::string_view kCountLater = R"(
SELECT count(*) FROM outbox AS o INDEXED BY outbox_deliver_at WHERE o.deliver_at > ?1 AND o.id > ?2
  AND NOT EXISTS (SELECT 1 FROM outbox_sent AS s WHERE s.id = o.id)
  AND NOT EXISTS (SELECT 1 FROM outbox_held AS h WHERE h.id = o.id))";
inline constexpr std::string_view kOldestUnseen = R"(
SELECT max(o.created_at, coalesce(o.deliver_at, 0)) FROM outbox AS o
  WHERE o.id > ?2 AND (o.deliver_at IS NULL OR o.deliver_at <= ?1)
  AND NOT EXISTS (SELECT 1 FROM outbox_sent AS s WHERE s.id = o.id)
  AND NOT EXISTS (SELECT 1 FROM outbox_held AS h WHERE h.id = o.id) ORDER BY o.id LIMIT 1)";
inline constexpr std::string_view kOldestReady = R"(
SELECT max(o.created_at, coalesce(o.deliver_at, 0)) FROM outbox_held AS h INDEXED BY outbox_held_ready
  CROSS JOIN outbox AS o ON o.id = h.id WHERE h.state = 'ready' ORDER BY h.id LIMIT 1)";
inline constexpr std::string_view kNowMs =
    "SELECT CAST(strftime('%s','now') AS INTEGER) * 1000 + CAST(substr(strftime('%f','now'), 4) AS INTEGER)";

// Rows for people, by the view.
inline constexpr std::string_view kStatusRow = R"(
SELECT v.id, v.event_id, v.topic, v.key, v.state, v.attempts, v.due_at, v.last_error, v.partition, v.offset,
  v.created_at, v.sent_at
  FROM outbox_status AS v WHERE v.id = ?1)";
inline constexpr std::string_view kPayloadOfRow = "SELECT payload, headers FROM outbox WHERE id = ?1";
inline constexpr std::string_view kIdOfEvent = "SELECT id FROM outbox WHERE event_id = ?1";
inline constexpr std::string_view kIdEnds =
    "SELECT coalesce((SELECT min(id) FROM outbox), 0), coalesce((SELECT max(id) FROM outbox), -1)";
inline constexpr std::string_view kFirstFrom = "SELECT id, created_at FROM outbox WHERE id >= ?1 ORDER BY id LIMIT 1";
inline constexpr std::string_view kComposedBetween = R"(
SELECT id, nonce FROM outbox WHERE id >= ?1 AND id <= ?2 AND created_at = ?3 AND event_id IS NULL ORDER BY id)";

// Where the store's first relay found the file.
inline constexpr std::string_view kFindHome = "SELECT value FROM txbox_meta WHERE name = 'home'";
inline constexpr std::string_view kRecordHome = "INSERT INTO txbox_meta(name, value) VALUES ('home', ?1)";
inline constexpr std::string_view kForgetHome = "DELETE FROM txbox_meta WHERE name = 'home'";

// Adopting: once, by a person, over the whole history. A malformed nonce has the prefix of eight zero bytes.
inline constexpr std::string_view kNewIncarnation = R"(
UPDATE txbox_meta SET value = value + 1 WHERE name = 'incarnation' RETURNING value)";
inline constexpr std::string_view kDropForeignReceipts = R"(
DELETE FROM outbox_sent WHERE NOT EXISTS (SELECT 1 FROM outbox AS o WHERE o.id = outbox_sent.id AND outbox_sent.nonce =
  CASE WHEN typeof(o.nonce) = 'blob' AND length(o.nonce) = 10 THEN substr(o.nonce, 1, 8) ELSE zeroblob(8) END))";
inline constexpr std::string_view kDropForeignHeld = R"(
DELETE FROM outbox_held WHERE NOT EXISTS (SELECT 1 FROM outbox AS o WHERE o.id = outbox_held.id AND outbox_held.nonce =
  CASE WHEN typeof(o.nonce) = 'blob' AND length(o.nonce) = 10 THEN substr(o.nonce, 1, 8) ELSE zeroblob(8) END))";
inline constexpr std::string_view kFallBackToSettled = R"(
UPDATE outbox_progress SET settled_through = min(settled_through, coalesce(
  (SELECT o.id - 1 FROM outbox AS o WHERE NOT EXISTS (SELECT 1 FROM outbox_sent AS s WHERE s.id = o.id)
    AND NOT EXISTS (SELECT 1 FROM outbox_held AS h WHERE h.id = o.id) ORDER BY o.id LIMIT 1),
  (SELECT max(id) FROM outbox), 0)) RETURNING settled_through)";
inline constexpr std::string_view kPrunedNotAboveSettled =
    "UPDATE outbox_progress SET pruned_through = min(pruned_through, settled_through)";
inline constexpr std::string_view kCountRemovedRows = "SELECT coalesce(max(id), 0) - count(*) FROM outbox";

}  // namespace txbox::store::sql
