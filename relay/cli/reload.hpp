#pragma once

#include <optional>

#include "relay/cli/log.hpp"
#include "relay/config/configuration.hpp"
#include "relay/engine/runner.hpp"
#include "relay/host/service_manager.hpp"

namespace txbox::relay {

/// The options log.level, relay.keep_sent and relay.keep_skipped, and relay.on_refusal.
[[nodiscard]] LogLevel log_level_of(const Configuration& configuration);
[[nodiscard]] KeepLimits keep_limits_of(const Configuration& configuration);
[[nodiscard]] OnRefusal on_refusal_of(const Configuration& configuration);

/// SIGHUP, as a descriptor for poll(2), and what it comes to: the file, the environment and the files of secrets are
/// read again. A wrong configuration is one error line, and the one before stays. What can change takes effect, what
/// cannot is named. Where the signal says that the terminal is gone, it is SIGTERM: nobody would see the relay go on.
/// Make it before any thread starts, as threads inherit the mask. One a process, single-threaded.
class Reload {
 public:
  /// `flags` and `started` are those of the start; `manager` outlives this. Throws failure.
  Reload(Settings flags, Configuration started, Log log, ServiceManager& manager);
  Reload(const Reload&) = delete;
  Reload& operator=(const Reload&) = delete;
  ~Reload();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// What changed for the runner since the last call; says to the log what came of a signal. Never throws.
  std::optional<RunnerChanges> take();

 private:
  RunnerChanges read_again();

  Settings flags_;
  Configuration started_;
  Configuration current_;
  Log log_;
  ServiceManager& manager_;
  bool on_terminal_;
  int descriptor_;
};

}  // namespace txbox::relay
