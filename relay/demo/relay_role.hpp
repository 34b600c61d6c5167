#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "relay/demo/kill_plan.hpp"
#include "relay/demo/outcome.hpp"
#include "relay/demo/player.hpp"
#include "relay/demo/topic_watch.hpp"

namespace txbox::relay::demo {

/// The relay of the story: `outbox-relay run` on the shop's file, killed as planned. One thread.
class RelayRole {
 public:
  struct Options {
    std::string db;
    std::string brokers;
    std::vector<PlannedKill> plan;
  };
  RelayRole(Options options, Player player);

  void start();
  /// A record came that the relay had sent.
  void saw(const TopicWatch::Seen& seen);
  /// Kills it, or starts it again, when that is due. False when it ended by itself.
  [[nodiscard]] bool act(std::int64_t committed, std::int64_t published);
  void stalled(std::chrono::milliseconds time);
  void stop();
  /// Starts `run --drain`, which ends by itself.
  void drain();
  [[nodiscard]] bool drained();
  void end_drain();

  [[nodiscard]] const RelayLives& lives() const noexcept { return lives_; }

 private:
  void start_life();
  void kill(std::int64_t committed, std::int64_t published);

  Options options_;
  Player player_;
  RelayLives lives_;
  std::size_t next_kill_ = 0;
  std::optional<std::chrono::steady_clock::time_point> restart_at_;
  std::chrono::steady_clock::time_point drain_ends_by_;
  bool has_published_ = false;  ///< In this life.
  std::int64_t repeats_ = 0;    ///< In this life.
};

}  // namespace txbox::relay::demo
