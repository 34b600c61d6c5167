#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace txbox::relay::demo {

/// This very executable, run again as a child with other arguments. The child dies with its parent. One thread, which
/// must outlive it. Throws Error(failure) when the system gives no process.
class ChildProcess {
 public:
  struct Options {
    std::vector<std::string> arguments;
    std::string output_file;      ///< Its stdout and stderr are appended here.
    std::string state_directory;  ///< Its XDG_STATE_HOME; nothing of the user's own is read or written.
  };
  explicit ChildProcess(const Options& options);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();  ///< Kills it when it still runs.

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// How it ended: the exit code, or 128 + the signal; none while it runs.
  [[nodiscard]] std::optional<int> result();
  /// Sends the signal and waits for the end.
  int end_with(int signal);

 private:
  void kill_if_running() noexcept;

  pid_t pid_ = -1;
  std::optional<int> result_;
};

}  // namespace txbox::relay::demo
