#include "relay/demo/child_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include <txbox/base/error.hpp>

namespace txbox::relay::demo {
namespace {

/// The relay's own variables: a broker or a password meant for production has no place in the demo.
constexpr std::array<std::string_view, 4> kLeftBehind = {"OUTBOX_RELAY_",
                                                         "STATE_DIRECTORY=", "XDG_STATE_HOME=", "NOTIFY_SOCKET="};

std::vector<std::string> child_environment(const std::string& state_directory) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const bool left_behind = std::any_of(kLeftBehind.begin(), kLeftBehind.end(),
                                         [text](std::string_view prefix) { return text.starts_with(prefix); });
    if (!left_behind) environment.emplace_back(text);
  }
  environment.push_back("XDG_STATE_HOME=" + state_directory);
  return environment;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Between fork and exec in a program with threads: system calls only.
[[noreturn]] void become(char* const* arguments, char* const* environment, int output, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // It died before the line above.
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  setpgid(0, 0);  // Ctrl-C is for the parent, which then ends the child itself.
  execve("/proc/self/exe", arguments, environment);
  _exit(127);
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

ChildProcess::ChildProcess(const Options& options) {
  std::vector<std::string> arguments = {"outbox-relay"};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  std::vector<std::string> environment = child_environment(options.state_directory);
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);

  const int output = open(options.output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (output < 0) throw Error(ErrorCode::failure, "opening " + options.output_file + ": " + std::strerror(errno));
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become(argument_pointers.data(), environment_pointers.data(), output, parent);
  const int error = errno;
  close(output);
  if (pid_ < 0) throw Error(ErrorCode::failure, std::string("starting a child process: ") + std::strerror(error));
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), result_(std::exchange(other.result_, std::nullopt)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    kill_if_running();
    pid_ = std::exchange(other.pid_, -1);
    result_ = std::exchange(other.result_, std::nullopt);
  }
  return *this;
}

ChildProcess::~ChildProcess() { kill_if_running(); }

std::optional<int> ChildProcess::result() {
  int status = 0;
  if (!result_ && waitpid(pid_, &status, WNOHANG) == pid_) result_ = code_of(status);
  return result_;
}

int ChildProcess::end_with(int signal) {
  if (!result()) {
    kill(pid_, signal);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    result_ = code_of(status);
  }
  return *result_;
}

void ChildProcess::kill_if_running() noexcept {
  if (pid_ > 0) end_with(SIGKILL);
}

}  // namespace txbox::relay::demo
