#include "relay_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "mock_kafka.hpp"

namespace txbox::test {

namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string unique_name() {
  static int count = 0;
  return "process-" + std::to_string(++count);
}

}  // namespace

RelayProcess::RelayProcess(const TempDir& folder, const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment, int input) {
  const std::string name = folder.file(unique_name());
  output_path_ = name + ".out";
  log_path_ = name + ".log";
  std::vector<std::string> words{TXBOX_RELAY_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables{"STATE_DIRECTORY=" + folder.file("state"), "PATH=/usr/bin:/bin"};
  variables.insert(variables.end(), environment.begin(), environment.end());
  // Nothing else of this process's environment reaches the relay, but a sanitizer must be told there as it is here.
  for (const char* option : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = std::getenv(option)) variables.push_back(std::string(option) + "=" + value);
  }
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(variables);
  const int output = open(output_path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const int log = open(log_path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  REQUIRE(nothing >= 0);
  REQUIRE(output >= 0);
  REQUIRE(log >= 0);
  child_ = fork();
  REQUIRE(child_ >= 0);
  if (child_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(input >= 0 ? input : nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  close(nothing);
  close(output);
  close(log);
  descriptor_ = static_cast<int>(syscall(SYS_pidfd_open, child_, 0));
  REQUIRE(descriptor_ >= 0);
}

RelayProcess::~RelayProcess() {
  if (code_ < 0) {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  close(descriptor_);
}

void RelayProcess::signal(int number) const { kill(child_, number); }

int RelayProcess::wait(std::chrono::milliseconds timeout) {
  if (code_ >= 0) return code_;
  pollfd ended{descriptor_, POLLIN, 0};
  if (poll(&ended, 1, static_cast<int>(timeout.count())) <= 0) return -1;
  int status = 0;
  waitpid(child_, &status, 0);
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return code_;
}

std::string RelayProcess::output() const { return contents(output_path_); }

std::string RelayProcess::log() const { return contents(log_path_); }

CommandResult relay(const TempDir& folder, const std::vector<std::string>& arguments,
                    const std::vector<std::string>& environment) {
  RelayProcess process(folder, arguments, environment);
  CommandResult result;
  result.code = process.wait();
  result.output = process.output();
  result.log = process.log();
  return result;
}

namespace {
std::string installed(const TempDir& folder) {
  const std::string path = folder.file("shop.db");
  REQUIRE(relay(folder, {"init", "--db", path}).code == 0);
  return path;
}
}  // namespace

Shop::Shop() : path(installed(folder)), app(path) { app.run("PRAGMA busy_timeout=10000"); }

void Shop::add(const std::string& topic, const std::string& key, const std::string& payload) {
  app.run("INSERT INTO outbox(topic, key, payload) VALUES ('" + topic + "', '" + key + "', '" + payload + "')");
}

void Shop::add_many(const std::string& topic, int count, int keys) {
  const std::string each = std::to_string(keys);
  app.run("WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < " +
          std::to_string(count) + ") INSERT INTO outbox(topic, key, payload) SELECT '" + topic + "', 'key-' || (n % " +
          each + "), n / " + each + " FROM number");
}

std::vector<std::string> Shop::run_arguments(const std::vector<std::string>& more) const {
  std::vector<std::string> arguments{"run", "--db", path, "--brokers", mock_kafka().bootstrap_servers()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

CommandResult Shop::drain(const std::vector<std::string>& more, const std::vector<std::string>& environment) const {
  std::vector<std::string> arguments = run_arguments(more);
  arguments.insert(arguments.end(), {"--drain", "--timeout", "15s"});
  return relay(folder, arguments, environment);
}

std::int64_t Shop::count_in_state(const std::string& state) {
  return app.number("SELECT count(*) FROM outbox_status WHERE state = '" + state + "'");
}

}  // namespace txbox::test
