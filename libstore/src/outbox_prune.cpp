#include <sqlite3.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <txbox/base/clock.hpp>
#include <txbox/base/error.hpp>
#include <txbox/base/failpoint.hpp>
#include <txbox/store/held_state.hpp>
#include <txbox/store/outbox_prune.hpp>
#include <txbox/store/prune_chunk.hpp>
#include <txbox/store/statement.hpp>
#include <txbox/store/transaction.hpp>

#include "free_pages.hpp"
#include "nonce.hpp"
#include "outbox_sql.hpp"
#include "store_checks.hpp"

namespace txbox::store {

namespace {

constexpr std::int64_t kFirstRows = 100;
constexpr std::int64_t kFirstPages = 32;
// Looked at in one step, where nothing is found: about a millisecond of reading.
constexpr std::int64_t kLook = 2'000;
// So many young receipts in a row are looked through; a file whose rows come and go has no more than that.
constexpr std::int64_t kYoungInRow = 20'000;
// Probes into what lies behind those: a stretch of old ones is found once it is this part of the rest.
constexpr std::int64_t kProbes = 64;

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

enum class Phase : std::uint8_t { sent, skipped, pages };

std::chrono::microseconds since(SteadyTime begin) {
  return std::chrono::duration_cast<std::chrono::microseconds>(system_clock().steady_now() - begin);
}

}  // namespace

struct OutboxPruner::State {
  explicit State(Connection& borrowed)
      : connection(borrowed),
        checks(borrowed),
        facts(db(), sql::kMarkFacts),
        receipts(db(), sql::kReceiptsToPrune),
        held(db(), sql::kHeldToPrune),
        sent_may_go(db(), sql::kSentMayGo),
        skipped_may_go(db(), sql::kSkippedMayGo),
        delete_row(db(), sql::kDeleteRow),
        delete_receipt(db(), sql::kDeleteReceipt),
        delete_held(db(), sql::kDropHeld),
        raise_pruned(db(), sql::kRaisePruned),
        removed(db(), sql::kRemovedRows),
        store_removed(db(), sql::kStoreRemovedRows),
        free_pages(db()) {}

  [[nodiscard]] sqlite3* db() const noexcept { return connection.handle(); }

  Connection& connection;
  StoreChecks checks;
  Statement facts;
  Statement receipts;
  Statement held;
  Statement sent_may_go;
  Statement skipped_may_go;
  Statement delete_row;
  Statement delete_receipt;
  Statement delete_held;
  Statement raise_pruned;
  Statement removed;
  Statement store_removed;
  FreePages free_pages;
  PruneChunk rows_chunk{kFirstRows};
  PruneChunk pages_chunk{kFirstPages};

  // Where the walk stands.
  Phase phase = Phase::sent;
  std::int64_t walked_through = 0;
  std::int64_t young_in_row = 0;
  std::int64_t young_through = 0;  ///< Receipts up to here may be young, and the walk goes on.
  std::optional<std::int64_t> oldest_sent_ms;
  std::vector<std::int64_t> ids;  ///< Found in this step.

  [[nodiscard]] std::int64_t last_that_may_go();
  [[nodiscard]] std::int64_t rows_of(const PruneLimits& limits) const {
    return limits.rows > 0 ? limits.rows : rows_chunk.size();
  }
  void next_phase(Phase next) noexcept {
    phase = next;
    walked_through = young_through = young_in_row = 0;
  }
  /// True when something is to be deleted, or the walk is to go on.
  [[nodiscard]] bool find_sent(const PruneLimits& limits);
  [[nodiscard]] bool find_skipped(const PruneLimits& limits);
  [[nodiscard]] bool probe_behind(std::int64_t through, std::int64_t before_ms);
  void remember_young(std::int64_t sent_at_ms) {
    oldest_sent_ms = std::min(oldest_sent_ms.value_or(sent_at_ms), sent_at_ms);
  }
  std::int64_t delete_found(bool sent, std::int64_t before_ms);
  void keep_those_that_may_go(Statement& question, bool sent, std::int64_t before_ms);
  void note_deleted();
  std::int64_t give_pages_back();
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

bool OutboxPruner::State::find_sent(const PruneLimits& limits) {
  if (walked_through == 0) oldest_sent_ms.reset();
  if (limits.sent_before_ms <= 0) return false;
  const ReadTransaction snapshot(db());
  checks.schema_unchanged();
  const std::int64_t through = last_that_may_go();
  const std::int64_t look = limits.rows > 0 ? limits.rows : kLook;
  std::int64_t seen = 0;
  {
    const ResetGuard guard(receipts);
    receipts.bind(1, walked_through).bind(2, through).bind(3, look);
    while (static_cast<std::int64_t>(ids.size()) < rows_of(limits) && receipts.step()) {
      ++seen;
      walked_through = receipts.column_int64(0);
      const std::int64_t sent_at_ms = receipts.column_int64(1);
      if (sent_at_ms < limits.sent_before_ms)
        ids.push_back(walked_through);
      else
        remember_young(sent_at_ms);
    }
  }
  young_in_row = ids.empty() ? young_in_row + seen : 0;
  if (!ids.empty()) return true;
  if (seen < look) return false;
  return young_in_row < kYoungInRow || walked_through < young_through || probe_behind(through, limits.sent_before_ms);
}

/// Behind a stretch of young receipts: true when the walk goes on, from the last probe before an old one.
bool OutboxPruner::State::probe_behind(std::int64_t through, std::int64_t before_ms) {
  const std::int64_t from = walked_through;
  for (std::int64_t probe = 1; probe < kProbes; ++probe) {
    const ResetGuard guard(receipts);
    receipts.bind(1, from + (through - from) / kProbes * probe).bind(2, through).bind(3, std::int64_t{1});
    if (!receipts.step()) return false;
    const std::int64_t id = receipts.column_int64(0);
    if (receipts.column_int64(1) < before_ms) {
      young_through = id;
      return true;
    }
    remember_young(receipts.column_int64(1));
    walked_through = id;
  }
  return false;
}

bool OutboxPruner::State::find_skipped(const PruneLimits& limits) {
  if (limits.skipped_before_ms <= 0) return false;
  const ReadTransaction snapshot(db());
  checks.schema_unchanged();
  const ResetGuard guard(held);
  const std::int64_t rows = rows_of(limits);
  held.bind(1, walked_through).bind(2, last_that_may_go()).bind(3, rows);
  std::int64_t seen = 0;
  while (held.step()) {
    ++seen;
    walked_through = held.column_int64(0);
    if (held.column_text(1) == to_string(HeldState::skipped)) ids.push_back(walked_through);
  }
  return seen == rows || !ids.empty();
}

/// Under the write lock, of `ids` only those remain that may go now.
void OutboxPruner::State::keep_those_that_may_go(Statement& question, bool sent, std::int64_t before_ms) {
  const std::int64_t through = last_that_may_go();
  std::erase_if(ids, [&](std::int64_t id) {
    if (id > through) return true;
    const ResetGuard guard(question);
    question.bind(1, id).bind(2, before_ms);
    if (!question.step()) return true;
    // The note of another row says nothing about this one (I6): never delete on its word.
    const bool has_row = question.column_int64(2) != 0;
    if (has_row && row_nonce_prefix(question, 1) != note_nonce_prefix(question.column_bytes(0))) {
      checks.throw_restored((sent ? "the receipt of row " : "the held row ") + std::to_string(id) +
                            " belongs to another row");
    }
    return false;
  });
}

std::int64_t OutboxPruner::State::delete_found(bool sent, std::int64_t before_ms) {
  // The walk has passed what was found only once it is deleted: after busy the same is found again.
  const std::int64_t passed = std::exchange(walked_through, ids.front() - 1);
  const TriggersOff triggers_off(db());
  WriteTransaction transaction(db());
  const SteadyTime begin = system_clock().steady_now();
  checks.schema_unchanged();
  keep_those_that_may_go(sent ? sent_may_go : skipped_may_go, sent, before_ms);
  if (ids.empty()) {
    walked_through = passed;
    return 0;
  }
  // Asked before the first row goes: where nothing was counted yet, it is the oldest row that tells.
  note_deleted();
  for (const std::int64_t id : ids) {
    run(delete_row, id);
    run(sent ? delete_receipt : delete_held, id);
  }
  const std::chrono::microseconds work = since(begin);
  TXBOX_FAILPOINT("prune:before-commit");
  transaction.commit();
  walked_through = passed;
  const auto deleted = static_cast<std::int64_t>(ids.size());
  rows_chunk.took(deleted, work);
  return deleted;
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

std::int64_t OutboxPruner::State::give_pages_back() {
  if (free_pages.to_give_back() == 0) return 0;
  WriteTransaction transaction(db());
  const SteadyTime begin = system_clock().steady_now();
  checks.schema_unchanged();
  const std::int64_t pages = std::min(free_pages.to_give_back(), pages_chunk.size());
  if (pages == 0) return 0;
  free_pages.give_back(pages);
  const std::chrono::microseconds work = since(begin);
  transaction.commit();
  pages_chunk.took(pages, work);
  return pages;
}

OutboxPruner::OutboxPruner(Connection& connection) : state_(std::make_unique<State>(connection)) {}
OutboxPruner::~OutboxPruner() = default;

PruneStep OutboxPruner::step(const PruneLimits& limits) {
  State& state = *state_;
  state.checks.file_in_place();
  state.ids.clear();
  PruneStep result;
  result.more = true;
  if (state.phase == Phase::sent) {
    if (state.find_sent(limits)) {
      if (!state.ids.empty()) result.deleted = state.delete_found(true, limits.sent_before_ms);
      return result;
    }
    state.next_phase(Phase::skipped);
  }
  if (state.phase == Phase::skipped) {
    if (state.find_skipped(limits)) {
      if (!state.ids.empty()) result.deleted = state.delete_found(false, limits.skipped_before_ms);
      return result;
    }
    state.next_phase(Phase::pages);
  }
  result.pages = state.give_pages_back();
  if (result.pages > 0) return result;
  state.next_phase(Phase::sent);
  result.more = false;
  result.oldest_sent_ms = state.oldest_sent_ms;
  return result;
}

}  // namespace txbox::store
