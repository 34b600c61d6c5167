#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include <txbox/base/clock.hpp>
#include <txbox/store/outbox_queries.hpp>

namespace txbox::relay {

/// The newest count of a file's rows by state, and when it is worth another one: only after a change, not more than
/// once a second, and where many rows are held, which is what counting walks over, at most a hundredth of the time.
/// Pure.
class RowCount {
 public:
  /// Something was written, by whomever.
  void changed() noexcept { changed_ = true; }
  [[nodiscard]] bool is_due(SteadyTime now) const noexcept { return changed_ ? now >= not_before_ : now >= anyway_at_; }
  void counted(SteadyTime began, SteadyTime ended, const store::OutboxCounts& counts) {
    counts_ = counts;
    changed_ = false;
    put_off(began, ended);
  }
  /// It could not be counted now.
  void put_off(SteadyTime began, SteadyTime ended) noexcept {
    not_before_ = ended + std::max<SteadyTime::duration>(kLeast, kShare * (ended - began));
    anyway_at_ = std::max(ended + kAnyway, not_before_);
  }
  [[nodiscard]] const std::optional<store::OutboxCounts>& counts() const noexcept { return counts_; }

 private:
  /// A little less than the second after which it is looked at again.
  static constexpr std::chrono::milliseconds kLeast{900};
  static constexpr int kShare = 100;
  /// A change that nothing told of. It wakes a file that sleeps, a millisecond's work.
  static constexpr std::chrono::minutes kAnyway{15};

  std::optional<store::OutboxCounts> counts_;
  bool changed_ = true;
  SteadyTime not_before_{};
  SteadyTime anyway_at_{};
};

}  // namespace txbox::relay
