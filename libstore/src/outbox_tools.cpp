#include <sqlite3.h>

#include <algorithm>
#include <optional>

#include <txbox/base/error.hpp>
#include <txbox/base/event_id.hpp>
#include <txbox/base/failpoint.hpp>
#include <txbox/store/held_state.hpp>
#include <txbox/store/lane.hpp>
#include <txbox/store/outbox_tools.hpp>
#include <txbox/store/statement.hpp>
#include <txbox/store/transaction.hpp>

#include "held_releases.hpp"
#include "nonce.hpp"
#include "outbox_sql.hpp"
#include "store_checks.hpp"

namespace txbox::store {

std::string_view to_string(ToolAction action) noexcept {
  switch (action) {
    case ToolAction::park: return "park";
    case ToolAction::retry: return "retry";
    case ToolAction::skip: return "skip";
  }
  return "";
}

std::string_view to_string(ToolOutcome outcome) noexcept {
  switch (outcome) {
    case ToolOutcome::done: return "done";
    case ToolOutcome::not_found: return "no such row";
    case ToolOutcome::already_sent: return "was already sent";
    case ToolOutcome::already_so: return "is so already";
    case ToolOutcome::is_skipped: return "is skipped: retry it first";
    case ToolOutcome::not_held_back: return "is neither parked nor skipped: nothing to retry";
    case ToolOutcome::changed_since: return "changed since it was chosen";
  }
  return "";
}

namespace {

/// `before` is null for a row without a note: neither sent nor held.
ToolOutcome judge(ToolAction action, std::optional<HeldState> before) noexcept {
  switch (action) {
    case ToolAction::park:
      if (before == HeldState::parked) return ToolOutcome::already_so;
      return before == HeldState::skipped ? ToolOutcome::is_skipped : ToolOutcome::done;
    case ToolAction::skip: return before == HeldState::skipped ? ToolOutcome::already_so : ToolOutcome::done;
    case ToolAction::retry:
      return before == HeldState::parked || before == HeldState::skipped ? ToolOutcome::done
                                                                         : ToolOutcome::not_held_back;
  }
  return ToolOutcome::not_found;
}

bool is_among(ToolAction action, std::optional<HeldState> before, std::span<const HeldState> chosen_from) noexcept {
  const auto unheld = [](HeldState state) { return state == HeldState::ready || state == HeldState::scheduled; };
  if (before && std::find(chosen_from.begin(), chosen_from.end(), *before) != chosen_from.end()) return true;
  // Parking one row of a key blocks the next ones, which may have been chosen together with it as rows that are ready.
  const bool blocked_since = action == ToolAction::park && before == HeldState::blocked;
  if (before && !unheld(*before) && !blocked_since) return false;
  return std::any_of(chosen_from.begin(), chosen_from.end(), unheld);
}

/// What a tool must know of a row before it touches its state.
struct ToolRow {
  std::uint64_t nonce_prefix = 0;
  std::optional<Lane> lane;
  std::string event_id;
};

std::string effective_event_id(const Statement& row) {
  if (!row.column_is_null(2)) return std::string(row.column_text(2));
  const BytesView nonce = row.column_bytes(1);
  if (nonce.size() != kNonceSize) return "row " + std::to_string(row.column_int64(0));
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(nonce.data());
  return event_id_from(row.column_int64(8), std::span<const std::uint8_t>(bytes, nonce.size()));
}

/// The lane a row has of its own: none without a key or with a time of delivery.
std::optional<Lane> own_lane(const Statement& row) {
  const BytesView key = row.column_bytes(5);
  if (key.is_null() || !row.column_is_null(9)) return std::nullopt;
  std::optional<std::int32_t> partition;
  if (!row.column_is_null(4)) partition = static_cast<std::int32_t>(row.column_int64(4));
  return lane_of(row.column_text(3), partition, key.view());
}

class ToolStatements {
 public:
  explicit ToolStatements(Connection& connection)
      : db_(connection.handle()),
        checks_(connection),
        row_(db_, sql::kReadRow),
        receipt_(db_, sql::kNonceOfReceipt),
        held_(db_, sql::kStateOfHeld),
        park_(db_, sql::kParkByHand),
        skip_(db_, sql::kSkipByHand),
        retry_(db_, sql::kRetryByHand),
        audit_(db_, sql::kAudit),
        lane_of_held_(db_, sql::kLaneOfHeld),
        releases_(db_) {}

  StoreChecks& checks() noexcept { return checks_; }

  ToolOutcome apply(ToolAction action, std::int64_t id, const AuditNote& note, std::span<const HeldState> chosen_from) {
    const std::optional<ToolRow> row = find(id);
    if (!row) return ToolOutcome::not_found;
    if (is_sent(id, *row)) return ToolOutcome::already_sent;
    const std::optional<HeldState> before = held_state(id, *row);
    if (!chosen_from.empty() && !is_among(action, before, chosen_from)) return ToolOutcome::changed_since;
    if (const ToolOutcome outcome = judge(action, before); outcome != ToolOutcome::done) return outcome;
    change(action, id, *row);
    write_audit(action, *row, before, note);
    return ToolOutcome::done;
  }

 private:
  std::optional<ToolRow> find(std::int64_t id) {
    const ResetGuard guard(row_);
    row_.bind(1, id);
    if (!row_.step()) return std::nullopt;
    return ToolRow{
        .nonce_prefix = row_nonce_prefix(row_, 1), .lane = own_lane(row_), .event_id = effective_event_id(row_)};
  }

  bool is_sent(std::int64_t id, const ToolRow& row) {
    const ResetGuard guard(receipt_);
    receipt_.bind(1, id);
    if (!receipt_.step()) return false;
    if (note_nonce_prefix(receipt_.column_bytes(0)) == row.nonce_prefix) return true;
    checks_.throw_restored("the receipt of row " + std::to_string(id) + " belongs to another row");
  }

  std::optional<HeldState> held_state(std::int64_t id, const ToolRow& row) {
    const ResetGuard guard(held_);
    held_.bind(1, id);
    if (!held_.step()) return std::nullopt;
    if (note_nonce_prefix(held_.column_bytes(1)) != row.nonce_prefix) {
      checks_.throw_restored("the held row " + std::to_string(id) + " belongs to another row");
    }
    return held_state_from(held_.column_text(0));
  }

  void change(ToolAction action, std::int64_t id, const ToolRow& row) {
    if (action == ToolAction::retry) {
      retry_.bind(1, id);
      retry_.execute();
      return;
    }
    Statement& statement = action == ToolAction::park ? park_ : skip_;
    const NonceBytes nonce(row.nonce_prefix);
    statement.bind(1, id).bind_blob(2, nonce.view()).bind(3, row.lane);
    statement.execute();
    // What was released behind it stands behind it again; rows that the relay has not listed yet it lists as blocked.
    if (action != ToolAction::park) return;
    if (const std::optional<Lane> lane = lane_in_held(id)) releases_.block_behind(*lane, id);
  }

  /// A redriven row may have another lane there than its own, or none.
  std::optional<Lane> lane_in_held(std::int64_t id) {
    const ResetGuard guard(lane_of_held_);
    lane_of_held_.bind(1, id);
    return lane_of_held_.step() ? lane_of_held_.column_optional(0) : std::nullopt;
  }

  void write_audit(ToolAction action, const ToolRow& row, std::optional<HeldState> before, const AuditNote& note) {
    std::string detail = "was ";
    detail += before ? to_string(*before) : "not held";
    if (!note.why.empty()) detail += "; " + note.why;
    audit_.bind(1, std::string_view(note.who)).bind(2, to_string(action));
    audit_.bind(3, std::string_view(row.event_id)).bind(4, std::string_view(detail));
    audit_.execute();
  }

  sqlite3* db_;
  StoreChecks checks_;
  Statement row_;
  Statement receipt_;
  Statement held_;
  Statement park_;
  Statement skip_;
  Statement retry_;
  Statement audit_;
  Statement lane_of_held_;
  HeldReleases releases_;
};

}  // namespace

std::vector<ToolOutcome> apply_tool(Connection& connection, ToolAction action, std::span<const std::int64_t> ids,
                                    const AuditNote& note, std::span<const HeldState> chosen_from) {
  ToolStatements statements(connection);
  statements.checks().file_in_place();
  WriteTransaction transaction(connection.handle());
  statements.checks().schema_unchanged();
  std::vector<ToolOutcome> outcomes;
  outcomes.reserve(ids.size());
  for (const std::int64_t id : ids) outcomes.push_back(statements.apply(action, id, note, chosen_from));
  TXBOX_FAILPOINT("tools:before-commit");
  transaction.commit();
  return outcomes;
}

ToolOutcome foresee_tool(ToolAction action, std::string_view state) noexcept {
  return state == "sent" ? ToolOutcome::already_sent : judge(action, held_state_from(state));
}

void audit_deed(Connection& connection, std::string_view deed, std::string_view detail, const AuditNote& note) {
  StoreChecks checks(connection);
  checks.file_in_place();
  WriteTransaction transaction(connection.handle());
  checks.schema_unchanged();
  std::string text(detail);
  if (!note.why.empty()) text += "; " + note.why;
  Statement audit(connection.handle(), sql::kAudit);
  audit.bind(1, std::string_view(note.who)).bind(2, deed).bind_null(3).bind(4, std::string_view(text));
  audit.execute();
  transaction.commit();
}

}  // namespace txbox::store
