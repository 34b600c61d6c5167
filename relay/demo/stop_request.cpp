#include "relay/demo/stop_request.hpp"

namespace txbox::relay::demo {
namespace {

volatile std::sig_atomic_t stop_signal = 0;

void remember(int signal) { stop_signal = signal; }

}  // namespace

StopRequest::StopRequest() noexcept {
  stop_signal = 0;
  struct sigaction action = {};
  sigemptyset(&action.sa_mask);
  action.sa_handler = remember;
  sigaction(SIGINT, &action, &old_interrupt_);
  sigaction(SIGTERM, &action, &old_terminate_);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, &old_pipe_);
}

StopRequest::~StopRequest() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
  sigaction(SIGPIPE, &old_pipe_, nullptr);
}

int StopRequest::signal() const noexcept { return stop_signal; }

}  // namespace txbox::relay::demo
