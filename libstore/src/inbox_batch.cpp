#include <sqlite3.h>

#include <txbox/base/check.hpp>
#include <txbox/base/clock.hpp>
#include <txbox/base/error.hpp>
#include <txbox/base/failpoint.hpp>
#include <txbox/store/schema.hpp>

#include "commit.hpp"
#include "inbox_sql.hpp"
#include "inbox_state.hpp"

namespace txbox::store {

InboxStore::State::State(Connection& borrowed, std::string_view consumer_group)
    : connection(borrowed),
      group(consumer_group),
      checks(borrowed, verify_inbox_schema),
      wal_sync(borrowed),
      begin_immediate(db(), "BEGIN IMMEDIATE"),
      savepoint(db(), "SAVEPOINT txbox_message"),
      release(db(), "RELEASE txbox_message"),
      roll_back(db(), "ROLLBACK TO txbox_message"),
      claim_event(db(), sql::kClaimEvent),
      is_parked_claim(db(), sql::kIsParkedClaim),
      position(db(), sql::kInboxPosition),
      advance(db(), sql::kAdvance),
      attempts_from(db(), sql::kAttemptsFrom),
      record_started(db(), sql::kRecordStarted),
      record_failed(db(), sql::kRecordFailed),
      forget_attempts(db(), sql::kForgetAttempts) {}

void InboxStore::State::require_batch(std::string_view what) const {
  if (!begun || lost || sqlite3_get_autocommit(db()) != 0) throw_over(what);
}

void InboxStore::State::throw_over(std::string_view what) const {
  throw Error(ErrorCode::no_transaction,
              std::string(what) + ": the consumer's transaction is over" +
                  (begun ? ": a handler must not COMMIT or ROLLBACK, and some errors of SQLite roll back by themselves"
                         : ": begin() comes first"));
}

Statement& InboxStore::State::bind_place(Statement& statement, const InboxPlace& place) const {
  TXBOX_CHECK(cluster != 0);
  return statement.bind(1, std::string_view(group))
      .bind(2, cluster)
      .bind(3, std::string_view(place.topic))
      .bind(4, std::int64_t{place.partition});
}

bool InboxStore::State::changed(Statement& statement) const {
  statement.execute();
  return sqlite3_changes(db()) > 0;
}

std::int64_t inbox_now_ms() noexcept { return to_ms(system_clock().wall_now()); }

void reset_unfinished(sqlite3* db, bool writing_only) noexcept {
  for (sqlite3_stmt* at = sqlite3_next_stmt(db, nullptr); at != nullptr; at = sqlite3_next_stmt(db, at)) {
    if (sqlite3_stmt_busy(at) == 0) continue;
    // A BLOB handle is a statement without text, and would use its cursor after the reset.
    if (sqlite3_sql(at) == nullptr) continue;
    if (writing_only && sqlite3_stmt_readonly(at) != 0) continue;
    sqlite3_reset(at);
  }
}

void InboxStore::begin() {
  State& state = *state_;
  sqlite3* db = state.db();
  if (sqlite3_get_autocommit(db) == 0) {
    throw Error(ErrorCode::failure,
                "the consumer's connection has an open transaction: whoever began it must COMMIT or ROLLBACK first",
                true);
  }
  state.begun = false;
  state.lost = false;
  state.checks.file_in_place();
  reset_unfinished(db, false);
  state.begin_immediate.execute_again();
  state.begun = true;
  state.began_ms = inbox_now_ms();
  try {
    state.checks.schema_unchanged();
  } catch (...) {
    rollback();
    throw;
  }
}

void InboxStore::commit() {
  State& state = *state_;
  state.require_batch("committing a batch");
  reset_unfinished(state.db(), false);
  TXBOX_FAILPOINT("inbox:before-commit");
  commit_transaction(state.db());
  TXBOX_FAILPOINT("inbox:after-commit");
  state.begun = false;
}

void InboxStore::rollback() noexcept {
  State& state = *state_;
  reset_unfinished(state.db(), false);
  if (sqlite3_get_autocommit(state.db()) == 0) sqlite3_exec(state.db(), "ROLLBACK", nullptr, nullptr, nullptr);
  state.begun = false;
  state.lost = false;
}

bool InboxStore::transaction_open() const noexcept {
  return state_->begun && !state_->lost && sqlite3_get_autocommit(state_->db()) == 0;
}

void InboxStore::State::move_savepoint(Statement& statement, std::string_view what) {
  require_batch(what);
  try {
    try {
      statement.execute_again();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::busy) throw;
      // A handler's INSERT ... RETURNING that was not read to its end is busy for ever until somebody resets it.
      reset_unfinished(db(), true);
      statement.execute_again();
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::failure) throw;
    // No such savepoint: the handler ended the transaction, and whatever is open now is none of this batch.
    lost = true;
    throw_over(what);
  }
}

void InboxStore::savepoint() { state_->move_savepoint(state_->savepoint, "beginning a message"); }

void InboxStore::release() { state_->move_savepoint(state_->release, "keeping a message's effect"); }

void InboxStore::roll_back_to_savepoint() {
  state_->move_savepoint(state_->roll_back, "undoing a message's effect");
  state_->move_savepoint(state_->release, "undoing a message's effect");
}

void InboxStore::State::bind_claim_of(std::string_view topic) {
  if (claim_bound && claim_topic == topic) return;
  claim_bound = true;
  claim_topic = topic;
  claim_event.bind(1, std::string_view(group)).bind(4, cluster).bind(5, std::string_view(claim_topic));
}

bool InboxStore::State::claim(std::string_view event_id, const Origin& origin, bool parked) {
  require_batch("claiming an event");
  TXBOX_CHECK(cluster != 0);
  bind_claim_of(origin.place.topic);
  claim_event.bind(2, event_id).bind(3, std::int64_t{parked}).bind(6, std::int64_t{origin.place.partition});
  claim_event.bind(7, origin.offset).bind(8, began_ms);
  TXBOX_FAILPOINT("inbox:claim-message");
  claim_event.execute_again();
  return sqlite3_changes(db()) > 0;
}

InboxClaim InboxStore::claim(std::string_view event_id, const Origin& origin) {
  State& state = *state_;
  if (state.claim(event_id, origin, false)) return InboxClaim::first;
  const ResetGuard guard(state.is_parked_claim);
  state.is_parked_claim.bind(1, std::string_view(state.group)).bind(2, event_id);
  const bool parked = state.is_parked_claim.step() && state.is_parked_claim.column_int64(0) != 0;
  return parked ? InboxClaim::parked_before : InboxClaim::duplicate;
}

void InboxStore::claim_parked(std::string_view event_id, const Origin& origin) {
  (void)state_->claim(event_id, origin, true);
}

void InboxStore::settle_parked(std::string_view event_id, const Origin& origin) {
  State& state = *state_;
  state.require_batch("settling a claim");
  TXBOX_CHECK(state.cluster != 0);
  Statement settle(state.db(), sql::kSettleParkedClaim);
  settle.bind(1, std::string_view(state.group)).bind(2, event_id).bind(3, state.cluster);
  settle.bind(4, std::string_view(origin.place.topic)).bind(5, std::int64_t{origin.place.partition});
  settle.bind(6, origin.offset).bind(7, inbox_now_ms());
  settle.execute();
}

bool InboxStore::advance(const InboxPlace& place, std::int64_t expected, std::int64_t next) {
  State& state = *state_;
  state.require_batch("advancing a position");
  state.bind_place(state.advance, place).bind(5, expected).bind(6, next).bind(7, inbox_now_ms());
  return state.changed(state.advance);
}

}  // namespace txbox::store
