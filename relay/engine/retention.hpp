#pragma once

#include <cstdint>
#include <optional>

#include "relay/engine/core.hpp"

namespace txbox::relay {

/// When retention looks into one database; of the wall clock, as receipts are.
struct PruneBook {
  std::int64_t due_ms = 0;          ///< Something may be old enough then.
  std::int64_t skipped_due_ms = 0;  ///< Skipped rows are looked for then: that is a walk over all that is held.
  store::PruneLimits limits;        ///< Of the walk under way.
  bool walking = false;
};

/// Which file retention works on, and when: one short step at a time over all files, with a pause after each, so that
/// neither marks nor the application's commits wait for long, and never put off by what is published meanwhile. Pure;
/// part of the core.
class Retention {
 public:
  explicit Retention(const KeepLimits& keep) noexcept : keep_(keep) {}

  void set(const KeepLimits& keep) noexcept { keep_ = keep; }
  /// Receipts were written.
  void sent(PruneBook& book, std::int64_t wall_ms) const noexcept;
  [[nodiscard]] bool wants(const PruneBook& book, std::int64_t wall_ms) const noexcept;
  /// No step is under way.
  [[nodiscard]] bool idle() const noexcept { return !under_way_.has_value(); }
  [[nodiscard]] SteadyTime not_before() const noexcept { return not_before_; }
  /// REQUIRES: idle(), wants(), not before not_before().
  [[nodiscard]] command::Prune begin(DatabaseIndex database, PruneBook& book, std::int64_t wall_ms);
  void done(const event::Pruned& event, PruneBook& book, SteadyTime now, WallTime wall);
  /// The database is closed: no answer comes from it any more.
  void forget(DatabaseIndex database) noexcept {
    if (under_way_ == database) under_way_.reset();
  }

  [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }

 private:
  KeepLimits keep_;
  std::optional<DatabaseIndex> under_way_;
  SteadyTime not_before_{};
  std::int64_t rows_ = 0;
};

}  // namespace txbox::relay
