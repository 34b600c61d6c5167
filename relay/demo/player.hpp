#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relay/demo/child_process.hpp"
#include "relay/demo/narrator.hpp"

namespace txbox::relay::demo {

/// A part of the story that a child process plays: started, killed, started again. One thread.
class Player {
 public:
  struct Options {
    Actor actor = Actor::relay;
    std::string log_file;
    std::string state_directory;
  };
  Player(const Options& options, Narrator& narrator);  ///< Borrows the narrator.

  void start(const std::vector<std::string>& arguments);
  [[nodiscard]] bool started() const noexcept { return process_.has_value(); }
  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  [[nodiscard]] std::optional<int> result() { return process_->result(); }
  int end_with(int signal) { return process_->end_with(signal); }
  /// Since the start of this life.
  [[nodiscard]] std::chrono::milliseconds age() const;

  void say(std::string_view text) { narrator_.say(options_.actor, text); }
  void stress(std::string_view text) { narrator_.stress(options_.actor, text); }
  void bad(std::string_view text) { narrator_.bad(options_.actor, text); }
  /// Says how it ended. Another result than 0 is a failure, and the end of its log is shown.
  void report_end(std::string_view what, int result);
  [[nodiscard]] int failures() const noexcept { return failures_; }

 private:
  Options options_;
  Narrator& narrator_;
  std::optional<ChildProcess> process_;
  std::chrono::steady_clock::time_point born_;
  int failures_ = 0;
};

}  // namespace txbox::relay::demo
