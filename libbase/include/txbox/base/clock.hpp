#pragma once

#include <chrono>
#include <cstdint>

namespace txbox {

using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;
using SteadyTime = std::chrono::steady_clock::time_point;

/// The seam for time. Wall time is for what people and other machines read; every wait, back-off and
/// deadline uses steady time, which no clock step moves. Implementations are safe from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual WallTime wall_now() const = 0;
  [[nodiscard]] virtual SteadyTime steady_now() const = 0;
};

/// The machine's clocks. One instance serves the whole process.
[[nodiscard]] const Clock& system_clock() noexcept;

[[nodiscard]] constexpr std::int64_t to_ms(WallTime time) noexcept { return time.time_since_epoch().count(); }
[[nodiscard]] constexpr WallTime wall_time_from_ms(std::int64_t ms) noexcept {
  return WallTime(std::chrono::milliseconds(ms));
}

}  // namespace txbox
