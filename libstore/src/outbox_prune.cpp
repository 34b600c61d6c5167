#include <sqlite3.h>

#include <algorithm>
#include <vector>

#include <txbox/base/error.hpp>
#include <txbox/base/failpoint.hpp>
#include <txbox/store/outbox_prune.hpp>
#include <txbox/store/statement.hpp>
#include <txbox/store/transaction.hpp>

#include "nonce.hpp"
#include "outbox_sql.hpp"
#include "store_checks.hpp"

namespace txbox::store {

namespace {

/// The outbox refuses DELETE by trigger; the store's own way round it is to have none on its connection meanwhile.
class TriggersOff {
 public:
  explicit TriggersOff(sqlite3* db) noexcept : db_(db) {
    sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &before_);
    sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  }
  TriggersOff(const TriggersOff&) = delete;
  TriggersOff& operator=(const TriggersOff&) = delete;
  ~TriggersOff() { sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_TRIGGER, before_, nullptr); }

 private:
  sqlite3* db_;
  int before_ = 1;
};

}  // namespace

struct OutboxPruner::State {
  explicit State(Connection& borrowed)
      : connection(borrowed),
        checks(borrowed),
        facts(db(), sql::kMarkFacts),
        receipts(db(), sql::kReceiptsToPrune),
        skipped(db(), sql::kSkippedToPrune),
        row_nonce(db(), sql::kNonceOfRow),
        receipt_nonce(db(), sql::kNonceOfReceipt),
        delete_row(db(), sql::kDeleteRow),
        delete_receipt(db(), sql::kDeleteReceipt),
        delete_held(db(), sql::kDropHeld),
        raise_pruned(db(), sql::kRaisePruned),
        removed(db(), sql::kRemovedRows),
        store_removed(db(), sql::kStoreRemovedRows) {}

  [[nodiscard]] sqlite3* db() const noexcept { return connection.handle(); }

  Connection& connection;
  StoreChecks checks;
  Statement facts;
  Statement receipts;
  Statement skipped;
  Statement row_nonce;
  Statement receipt_nonce;
  Statement delete_row;
  Statement delete_receipt;
  Statement delete_held;
  Statement raise_pruned;
  Statement removed;
  Statement store_removed;
  std::int64_t receipts_walked_through = 0;
  std::int64_t skipped_walked_through = 0;
  std::vector<std::int64_t> ids;

  std::int64_t last_that_may_go();
  bool collect_sent(const PruneLimits& limits, std::int64_t through);
  bool collect_skipped(const PruneLimits& limits, std::int64_t through);
  void delete_collected(bool sent);
  void note_deleted();
  static void run(Statement& statement, std::int64_t id) {
    statement.bind(1, id);
    statement.execute();
  }
};

std::int64_t OutboxPruner::State::last_that_may_go() {
  const ResetGuard guard(facts);
  if (!facts.step()) throw Error(ErrorCode::schema_differs, "outbox_progress is empty: run `outbox-relay init`");
  if (facts.column_int64(0) > facts.column_int64(2)) checks.throw_restored("rows that were settled are gone");
  return std::min(facts.column_int64(0), facts.column_int64(2) - 1);
}

/// True when the walk over the receipts goes on.
bool OutboxPruner::State::collect_sent(const PruneLimits& limits, std::int64_t through) {
  const ResetGuard guard(receipts);
  receipts.bind(1, receipts_walked_through).bind(2, through).bind(3, limits.rows);
  std::int64_t seen = 0;
  while (receipts.step()) {
    ++seen;
    receipts_walked_through = receipts.column_int64(0);
    if (receipts.column_int64(1) < limits.sent_before_ms) ids.push_back(receipts_walked_through);
  }
  const bool more = seen == limits.rows && !ids.empty();
  if (!more) receipts_walked_through = 0;
  return more;
}

bool OutboxPruner::State::collect_skipped(const PruneLimits& limits, std::int64_t through) {
  if (limits.skipped_before_ms <= 0) return false;
  const ResetGuard guard(skipped);
  skipped.bind(1, skipped_walked_through).bind(2, through).bind(3, limits.skipped_before_ms).bind(4, limits.rows);
  while (skipped.step()) ids.push_back(skipped.column_int64(0));
  const bool more = static_cast<std::int64_t>(ids.size()) == limits.rows;
  skipped_walked_through = more ? ids.back() : 0;
  return more;
}

void OutboxPruner::State::delete_collected(bool sent) {
  for (const std::int64_t id : ids) {
    if (sent) {
      // The receipt of another row says nothing about this one (I6): never delete on its word.
      const ResetGuard row_guard(row_nonce);
      const ResetGuard receipt_guard(receipt_nonce);
      row_nonce.bind(1, id);
      receipt_nonce.bind(1, id);
      if (row_nonce.step() && receipt_nonce.step() &&
          row_nonce_prefix(row_nonce, 0) != note_nonce_prefix(receipt_nonce.column_bytes(0))) {
        checks.throw_restored("the receipt of row " + std::to_string(id) + " belongs to another row");
      }
    }
    run(delete_row, id);
    run(sent ? delete_receipt : delete_held, id);
  }
}

/// What `status` counts by, and what tells a gap that retention left from one that should not be.
void OutboxPruner::State::note_deleted() {
  run(raise_pruned, ids.back());
  std::int64_t before = 0;
  {
    const ResetGuard guard(removed);
    if (removed.step()) before = removed.column_int64(0);
  }
  run(store_removed, before + static_cast<std::int64_t>(ids.size()));
}

OutboxPruner::OutboxPruner(Connection& connection) : state_(std::make_unique<State>(connection)) {}
OutboxPruner::~OutboxPruner() = default;

PruneStep OutboxPruner::step(const PruneLimits& limits) {
  State& state = *state_;
  state.checks.file_in_place();
  const TriggersOff triggers_off(state.db());
  WriteTransaction transaction(state.db());
  state.checks.schema_unchanged();
  const std::int64_t through = state.last_that_may_go();
  state.ids.clear();
  bool sent = true;
  bool more = state.collect_sent(limits, through);
  if (state.ids.empty()) {
    sent = false;
    more = state.collect_skipped(limits, through);
  }
  PruneStep result{.deleted = static_cast<std::int64_t>(state.ids.size()), .more = more};
  if (state.ids.empty()) return result;
  // Asked before the first row goes: where nothing was counted yet, it is the oldest row that tells.
  state.note_deleted();
  state.delete_collected(sent);
  TXBOX_FAILPOINT("prune:before-commit");
  transaction.commit();
  // A walk that deleted sent rows may still find skipped ones.
  result.more = more || (sent && limits.skipped_before_ms > 0);
  return result;
}

}  // namespace txbox::store
