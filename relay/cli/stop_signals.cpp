#include "relay/cli/stop_signals.hpp"

#include <csignal>

#include <sys/signalfd.h>
#include <unistd.h>

#include <txbox/base/error.hpp>

namespace txbox::relay {

StopSignals::StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  if (pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) throw Error(ErrorCode::failure, "signals cannot be blocked");
  descriptor_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) throw Error(ErrorCode::failure, "no descriptor is left for signals");
}

StopSignals::~StopSignals() { close(descriptor_); }

int StopSignals::take() noexcept {
  int count = 0;
  signalfd_siginfo signal{};
  while (read(descriptor_, &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) ++count;
  return count;
}

}  // namespace txbox::relay
