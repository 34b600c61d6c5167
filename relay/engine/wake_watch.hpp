#pragma once

#include <cstdint>
#include <optional>

#include <txbox/base/clock.hpp>

namespace txbox::relay {

/// When to look at `PRAGMA data_version`, and what a move of it means. An inotify event comes before its commit is
/// visible, so one event leads to several looks, further and further apart; and the relay's own marks move the
/// version too. Pure; one a database.
class WakeWatch {
 public:
  struct Verdict {
    bool changed_by_others = false;  ///< False while it may have been the relay's own mark; then true within a second.
  };

  explicit WakeWatch(std::int64_t data_version) noexcept : version_(data_version) {}

  /// The database's files were touched.
  void touched(SteadyTime now) noexcept;
  /// The relay's own writer was given something to commit, and is done with it.
  void writing() noexcept { ++writes_under_way_; }
  void written() noexcept {
    --writes_under_way_;
    // The commit comes before its answer: a move that was seen in between was most likely this one, and the next is
    // not.
    if (!move_while_writing_) own_commits_ = true;
    move_while_writing_ = false;
  }
  /// Likewise, where there was nothing to commit.
  void nothing_written() noexcept {
    --writes_under_way_;
    if (writes_under_way_ == 0) move_while_writing_ = false;
  }
  [[nodiscard]] SteadyTime next_look() const noexcept { return next_look_; }
  /// REQUIRES: next_look() <= now. The verdict is there when the core should hear of it.
  [[nodiscard]] std::optional<Verdict> look(SteadyTime now, std::int64_t data_version) noexcept;

 private:
  std::int64_t version_;
  SteadyTime next_look_ = SteadyTime::max();
  unsigned step_ = 0;
  unsigned writes_under_way_ = 0;
  bool own_commits_ = false;                  ///< A commit of our own whose move was not seen yet.
  bool move_while_writing_ = false;           ///< A move was seen since the last answer, beside a write of our own.
  SteadyTime doubt_due_ = SteadyTime::max();  ///< A move may have hidden another's commit: told then.
};

}  // namespace txbox::relay
