#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "relay/demo/books_file.hpp"
#include "relay/demo/handler_tally.hpp"
#include "relay/demo/kill_plan.hpp"
#include "relay/demo/outcome.hpp"
#include "relay/demo/player.hpp"

namespace txbox::relay::demo {

/// The consumer of the story: the billing in a process of its own, killed as planned and, where that can be seen, in
/// the middle of a transaction. One thread.
class BillingRole {
 public:
  struct Options {
    std::vector<std::string> command;  ///< Its arguments.
    std::string db;
    std::string tally_file;
    std::vector<PlannedKill> plan;
  };
  BillingRole(Options options, Player player);

  void start();
  /// Kills it, or starts it again, when that is due. False when it ended by itself. `taken`: how often its database saw
  /// a partition taken.
  [[nodiscard]] bool act(std::int64_t taken);
  /// Orders that its database holds, as of the last act().
  [[nodiscard]] std::int64_t applied() const noexcept { return applied_; }
  void stalled(std::chrono::milliseconds time);
  void stop();
  /// It is to be killed now, or is dead, or has not got its partitions in this life.
  [[nodiscard]] bool busy() const { return restart_at_ || !has_partitions_ || kill_is_due(); }
  [[nodiscard]] const ConsumerLives& lives() const noexcept { return lives_; }

 private:
  void start_life();
  void notice();
  [[nodiscard]] bool kill_is_due() const;
  [[nodiscard]] bool kill_is_near() const;
  /// Effects are there that are not committed yet; or no such moment came in time, and the kill is due.
  [[nodiscard]] bool caught_in_transaction();
  void kill();

  Options options_;
  Player player_;
  BillingProgress progress_;
  HandlerTally tally_;
  ConsumerLives lives_;
  std::size_t next_kill_ = 0;
  std::optional<std::chrono::steady_clock::time_point> restart_at_;
  std::optional<std::chrono::steady_clock::time_point> aim_ends_at_;
  std::int64_t applied_ = 0;
  std::int64_t applied_before_ = 0;  ///< When this life began.
  std::int64_t handled_before_ = 0;  ///< When this life began.
  std::int64_t taken_ = 0;           ///< As of the last act().
  std::int64_t taken_before_ = 0;    ///< When this life began.
  bool has_partitions_ = false;      ///< In this life.
  bool has_applied_ = false;         ///< In this life.
};

}  // namespace txbox::relay::demo
