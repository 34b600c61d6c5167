#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace txbox::bench {

/// What a process cost, as the kernel counted it.
struct Cost {
  int exit_code = 0;                      ///< Or 128 + the signal.
  std::chrono::duration<double> wall{0};  ///< From just before fork to the end.
  std::chrono::duration<double> cpu{0};   ///< User and system.
  double rss_mb = 0;                      ///< The most that was resident at once.
};

/// The program of that name in the folder of this one.
[[nodiscard]] std::string sibling_program(const std::string& name);

/// A child whose words go to a file. Killed in the destructor when it still runs. One thread, which must outlive it.
class Child {
 public:
  Child(const std::string& program, std::vector<std::string> arguments, const std::string& output_file,
        const std::string& state_directory);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Waits for its end.
  Cost wait();
  /// Asks it to end with SIGTERM, then waits.
  Cost stop();
  /// The CPU time that it has used up to now.
  [[nodiscard]] std::chrono::duration<double> cpu_so_far() const;

 private:
  pid_t pid_ = -1;
  std::chrono::steady_clock::time_point start_;
};

/// wait() and a throw, with the end of the output, when the exit code is not 0.
Cost wait_for_success(Child& child, const std::string& output_file);

}  // namespace txbox::bench
