#pragma once

#include <csignal>

namespace txbox::relay::demo {

/// While it lives SIGINT and SIGTERM only set a flag, so that children and files are cleared away before the process
/// ends, and SIGPIPE is ignored (`demo | head`). One at a time.
class StopRequest {
 public:
  StopRequest() noexcept;
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;
  ~StopRequest();
  /// The signal that came, else 0.
  [[nodiscard]] int signal() const noexcept;

 private:
  struct sigaction old_interrupt_ = {};
  struct sigaction old_terminate_ = {};
  struct sigaction old_pipe_ = {};
};

}  // namespace txbox::relay::demo
