#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <txbox/store/connection.hpp>
#include <txbox/store/held_state.hpp>

namespace txbox::store {

/// What a person may do to a row (docs/operations.md).
enum class ToolAction {
  park,   ///< Hold it back; its key waits.
  retry,  ///< Try a parked or skipped row again. A parked row's key follows in order; a skipped one comes alone.
  skip,   ///< Give it up for good; its key goes on without it.
};
[[nodiscard]] std::string_view to_string(ToolAction action) noexcept;

/// Expected answers, each with its own words for the person.
enum class ToolOutcome {
  done,
  not_found,      ///< No row of this id.
  already_sent,   ///< A receipt stands: Kafka has it, nothing can be taken back.
  already_so,     ///< Parked or skipped already.
  is_skipped,     ///< park of a skipped row: retry it first.
  not_held_back,  ///< retry of a row that is neither parked nor skipped: the relay comes to it by itself.
  changed_since,  ///< It was chosen by its state, and left that state before its turn came.
};
[[nodiscard]] std::string_view to_string(ToolOutcome outcome) noexcept;

/// What the action would answer for a row in this state of outbox_status. Nothing is looked up and nothing changes.
[[nodiscard]] ToolOutcome foresee_tool(ToolAction action, std::string_view state) noexcept;

/// Who did it, and why, for txbox_audit; no key, no payload.
struct AuditNote {
  std::string who;
  std::string why;
};

/// Applies one action to rows by id in one transaction and writes a line of txbox_audit for each row that changed.
/// Give it at most some thousand rows a call: the write lock is held meanwhile (2,000 rows: about 25 ms). An answer a
/// row, in the order given. Rows that were chosen by their states carry these along as `chosen_from`: one that has left
/// them since is not touched (ready and scheduled count as one, for time alone leads from one to the other). Empty:
/// any. Park and skip of a row that is in flight are wishes: no tool can know what is. If Kafka acknowledges it the
/// receipt wins, and a second look says already_sent. `connection` is of purpose tool (or relay). Errors: busy,
/// disk_full, moved, corrupt, restored (a note belongs to another row), schema_newer, schema_differs.
std::vector<ToolOutcome> apply_tool(Connection& connection, ToolAction action, std::span<const std::int64_t> ids,
                                    const AuditNote& note, std::span<const HeldState> chosen_from = {});

/// A line of txbox_audit for what a person did to no row in particular. A transaction of its own. Errors as apply_tool.
void audit_deed(Connection& connection, std::string_view deed, std::string_view detail, const AuditNote& note);

struct AdoptResult {
  std::int64_t incarnation = 1;       ///< The new one.
  std::int64_t foreign_receipts = 0;  ///< Receipts that belonged to other rows and were taken away.
  std::int64_t foreign_held = 0;      ///< The same of held rows.
  std::int64_t settled_through = 0;
};
/// A new incarnation after a restore or a copy: notes that do not fit their rows go, settled_through falls to what SQL
/// confirms (their rows are published again), the file's home is forgotten, and txbox_audit gets a line. One
/// transaction over the whole history: only where no relay runs. Errors as apply_tool.
AdoptResult adopt_store(Connection& connection, const AuditNote& note);

}  // namespace txbox::store
