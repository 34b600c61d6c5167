#include <sqlite3.h>

#include <algorithm>
#include <optional>

#include <txbox/base/error.hpp>
#include <txbox/store/outbox_queries.hpp>
#include <txbox/store/statement.hpp>
#include <txbox/store/transaction.hpp>

#include "outbox_sql.hpp"

namespace txbox::store {

namespace {

std::optional<std::int64_t> value_of(Statement& statement) {
  const ResetGuard guard(statement);
  return statement.step() ? statement.column_optional(0) : std::nullopt;
}

std::optional<std::int64_t> earlier_of(std::optional<std::int64_t> one, std::optional<std::int64_t> other) {
  if (!one) return other;
  return other ? std::min(*one, *other) : *one;
}

}  // namespace

OutboxCounts count_outbox(sqlite3* db) {
  std::optional<ReadTransaction> snapshot;
  if (sqlite3_get_autocommit(db) != 0) snapshot.emplace(db);
  OutboxCounts counts;

  Statement facts(db, sql::kCountFacts);
  if (!facts.step()) throw Error(ErrorCode::schema_differs, "outbox_progress is empty: run `outbox-relay init`");
  counts.settled_through = facts.column_int64(0);
  counts.newest_id = facts.column_int64(1);
  const std::int64_t receipts_above = facts.column_int64(2);
  const std::int64_t removed = facts.column_int64(3);
  facts.reset();

  Statement held(db, sql::kCountHeld);
  held.bind(1, counts.settled_through);
  if (!held.step()) throw Error(ErrorCode::failure, "counting the held rows gave nothing");
  const std::int64_t held_ready = held.column_int64(0);
  const std::int64_t held_above = held.column_int64(6);
  const std::int64_t held_below = held.column_int64(7) - held_above;
  counts.scheduled = held.column_int64(1);
  counts.parked = held.column_int64(2);
  counts.blocked = held.column_int64(3);
  counts.waiting = held.column_int64(4);
  counts.skipped = held.column_int64(5);
  held.reset();

  Statement now(db, sql::kNowMs);
  const std::int64_t now_ms = value_of(now).value_or(0);
  Statement later(db, sql::kCountLater);
  later.bind(1, now_ms).bind(2, counts.settled_through);
  const std::int64_t unseen_later = value_of(later).value_or(0);

  // Ids have no gaps but those that retention left, all of them at or below settled_through. There every row has a
  // receipt or is held (I1), never both (I3); above, a row without either is one that the relay has still to read.
  counts.sent = counts.settled_through - removed - held_below + receipts_above;
  const std::int64_t unseen = counts.newest_id - counts.settled_through - receipts_above - held_above;
  counts.ready = unseen - unseen_later + held_ready;
  counts.scheduled += unseen_later;

  Statement blocked_keys(db, sql::kCountBlockedKeys);
  counts.blocked_keys = value_of(blocked_keys).value_or(0);
  Statement oldest_unseen(db, sql::kOldestUnseen);
  oldest_unseen.bind(1, now_ms).bind(2, counts.settled_through);
  Statement oldest_ready(db, sql::kOldestReady);
  counts.oldest_ready_created_at_ms = earlier_of(value_of(oldest_unseen), value_of(oldest_ready));
  return counts;
}

}  // namespace txbox::store
