#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include <txbox/base/clock.hpp>

namespace txbox::relay {

/// The threads that the relay cannot do without.
enum class Loop : std::uint8_t { runner, store_worker, topic_describer };

/// Whether the relay's loops still move: the one notion behind the service manager's watchdog and whoever asks over
/// HTTP. A loop that waits for something with a limit turns again within a second or two, so one that did not for
/// long is stuck, however well the others do. Any thread may call any of these.
class Liveness {
 public:
  /// The loop begins a turn.
  void turned(Loop loop, SteadyTime now) noexcept;
  /// The loop has nothing to do and waits without a limit, or it ended: its next turn may be far.
  void rests(Loop loop) noexcept;
  /// How long ago the loop that is at work for longest began its turn.
  [[nodiscard]] std::chrono::nanoseconds stillness(SteadyTime now) const noexcept;

 private:
  static constexpr std::int64_t kRests = -1;
  /// By Loop: since the steady clock's epoch, in nanoseconds.
  std::array<std::atomic<std::int64_t>, 3> turned_{kRests, kRests, kRests};
};

}  // namespace txbox::relay
