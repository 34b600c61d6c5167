#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <txbox/base/clock.hpp>

#include "relay/engine/liveness.hpp"
#include "relay/engine/runner_pulse.hpp"

namespace txbox::relay {

/// The service manager that started this process, told by sd_notify(3) what has become of it: READY=1, STATUS=,
/// RELOADING=1, STOPPING=1, and WATCHDOG=1 in half of the time that it allows. Where none started it, or the program
/// was built without libsystemd, nothing of this does anything. What cannot be delivered is not repeated: the relay
/// does its work whether anybody watches or not. Make it before any thread starts; single-threaded.
class ServiceManager {
 public:
  explicit ServiceManager(std::shared_ptr<const Liveness> liveness);

  /// How often tell() is wanted at least.
  [[nodiscard]] std::chrono::milliseconds interval() const noexcept { return interval_; }
  /// Tells what is new in it; and the watchdog that all is well, as long as the loops move.
  void tell(const RunnerPulse& pulse, SteadyTime now);
  /// Around a reload of the configuration, successful or not.
  void reloading(SteadyTime now);
  void reloaded();

 private:
  std::shared_ptr<const Liveness> liveness_;
  std::chrono::microseconds watchdog_half_{0};  ///< 0: no watchdog.
  std::chrono::milliseconds interval_;
  RunnerPulse told_;
  SteadyTime last_sign_{};
};

}  // namespace txbox::relay
