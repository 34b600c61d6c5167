#pragma once

#include <optional>
#include <string_view>

namespace txbox::store {

/// Why a row stands in outbox_held (column `state`, as its word). A row leaves only with its receipt, or by prune when
/// skipped.
enum class HeldState {
  parked,     ///< Refused by Kafka, or held back by a person; its key waits (on_refusal = block).
  blocked,    ///< Its key waits for an earlier row.
  scheduled,  ///< deliver_at is in the future.
  waiting,    ///< Its topic is paused: missing, or not authorized.
  ready,      ///< May be produced again; the relay takes it up.
  skipped,    ///< Given up for good by a person; its key went on.
};

[[nodiscard]] std::string_view to_string(HeldState state) noexcept;
[[nodiscard]] std::optional<HeldState> held_state_from(std::string_view word) noexcept;

}  // namespace txbox::store
