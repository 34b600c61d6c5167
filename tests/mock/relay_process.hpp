#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "support/app_database.hpp"
#include "support/temp_dir.hpp"

namespace txbox::test {

/// The real executable as a child process, with a state directory of its own and nothing inherited from the
/// environment that it would read; its input is `input`, and empty without one. It dies with the test. One thread.
class RelayProcess {
 public:
  RelayProcess(const TempDir& folder, const std::vector<std::string>& arguments,
               const std::vector<std::string>& environment = {}, int input = -1);
  RelayProcess(const RelayProcess&) = delete;
  RelayProcess& operator=(const RelayProcess&) = delete;
  ~RelayProcess();

  void signal(int number) const;
  /// The exit code, or 128 + the signal that ended it; -1 when it lives on after `timeout`.
  int wait(std::chrono::milliseconds timeout = std::chrono::seconds(20));
  /// What it wrote so far.
  [[nodiscard]] std::string output() const;
  [[nodiscard]] std::string log() const;

 private:
  std::string output_path_;
  std::string log_path_;
  pid_t child_ = -1;
  int descriptor_ = -1;  ///< A pidfd: readable when the child has ended.
  int code_ = -1;
};

struct CommandResult {
  int code = -1;
  std::string output;
  std::string log;
};
/// Runs one command to its end.
CommandResult relay(const TempDir& folder, const std::vector<std::string>& arguments,
                    const std::vector<std::string>& environment = {});

/// A folder with `shop.db`, installed by the executable's own `init`, and an application's connection to it.
struct Shop {
  Shop();
  TempDir folder;
  std::string path;
  AppDatabase app;

  void add(const std::string& topic, const std::string& key, const std::string& payload);
  /// `count` rows in one transaction, spread over `keys` keys; the payload is the row's number within its key.
  void add_many(const std::string& topic, int count, int keys);
  [[nodiscard]] std::vector<std::string> run_arguments(const std::vector<std::string>& more = {}) const;
  /// `run --drain` to its end.
  CommandResult drain(const std::vector<std::string>& more = {},
                      const std::vector<std::string>& environment = {}) const;
  std::int64_t count_in_state(const std::string& state);
};

}  // namespace txbox::test
