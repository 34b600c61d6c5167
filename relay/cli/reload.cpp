#include "relay/cli/reload.hpp"

#include <csignal>
#include <string>
#include <utility>

#include <sys/signalfd.h>
#include <unistd.h>

#include <txbox/base/clock.hpp>
#include <txbox/base/error.hpp>

#include "relay/cli/client_check.hpp"
#include "relay/config/environment.hpp"

namespace txbox::relay {

namespace {

int block_and_watch() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGHUP);
  if (pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) throw Error(ErrorCode::failure, "signals cannot be blocked");
  const int descriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor < 0) throw Error(ErrorCode::failure, "no descriptor is left for signals");
  return descriptor;
}

bool came(int descriptor) noexcept {
  bool any = false;
  signalfd_siginfo signal{};
  while (read(descriptor, &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) any = true;
  return any;
}

}  // namespace

LogLevel log_level_of(const Configuration& configuration) {
  const std::string& word = configuration.text("log.level");
  if (word == "debug") return LogLevel::debug;
  if (word == "info") return LogLevel::info;
  return word == "warning" ? LogLevel::warning : LogLevel::error;
}

KeepLimits keep_limits_of(const Configuration& configuration) {
  // Not a duration: forever.
  return {.sent = configuration.duration("relay.keep_sent"), .skipped = configuration.duration("relay.keep_skipped")};
}

OnRefusal on_refusal_of(const Configuration& configuration) {
  return configuration.text("relay.on_refusal") == "skip" ? OnRefusal::skip : OnRefusal::block;
}

Reload::Reload(Settings flags, Configuration started, Log log, ServiceManager& manager)
    : flags_(std::move(flags)),
      started_(std::move(started)),
      current_(started_),
      log_(std::move(log)),
      manager_(manager),
      on_terminal_(isatty(STDERR_FILENO) == 1),
      descriptor_(block_and_watch()) {}

Reload::~Reload() { close(descriptor_); }

std::optional<RunnerChanges> Reload::take() {
  if (!came(descriptor_)) return std::nullopt;
  if (on_terminal_ && isatty(STDERR_FILENO) != 1) {
    kill(getpid(), SIGTERM);
    return std::nullopt;
  }
  std::optional<RunnerChanges> changes;
  manager_.reloading(system_clock().steady_now());
  try {
    changes = read_again();
  } catch (const std::exception& error) {
    log_.sink(LogLevel::error, "reload: " + std::string(error.what()) + "; the configuration stays as it was");
  }
  manager_.reloaded();
  return changes;
}

RunnerChanges Reload::read_again() {
  Configuration next(flags_, process_environment());
  require_runnable(next);
  RunnerChanges changes;
  if (next.kafka() != current_.kafka()) {
    check_client(next.kafka());
    changes.kafka = next.kafka();
  }
  if (on_refusal_of(next) != on_refusal_of(current_)) changes.on_refusal = on_refusal_of(next);
  if (keep_limits_of(next) != keep_limits_of(current_)) changes.keep = keep_limits_of(next);
  for (const std::string& warning : next.warnings()) log_.sink(LogLevel::warning, warning);
  for (const std::string& name : changes_for_next_start(started_, next))
    log_.sink(LogLevel::warning, "reload: " + name + " cannot change while running; the new value waits for a restart");
  log_.set_level(log_level_of(next));
  log_.sink(LogLevel::info, changes.kafka ? "reloaded: new properties for Kafka" : "reloaded");
  current_ = std::move(next);
  return changes;
}

}  // namespace txbox::relay
