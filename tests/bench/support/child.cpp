#include "tests/bench/support/child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace txbox::bench {
namespace {

std::chrono::duration<double> seconds_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

[[noreturn]] void become(const char* program, char* const* arguments, char* const* environment, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execve(program, arguments, environment);
  _exit(127);
}

}  // namespace

std::string sibling_program(const std::string& name) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
}

Child::Child(const std::string& program, std::vector<std::string> arguments, const std::string& output_file,
             const std::string& state_directory) {
  arguments.insert(arguments.begin(), program);
  std::vector<char*> argument_pointers;
  for (std::string& argument : arguments) argument_pointers.push_back(argument.data());
  argument_pointers.push_back(nullptr);
  std::string state = "XDG_STATE_HOME=" + state_directory;
  std::string path = "PATH=/usr/bin:/bin";
  const std::vector<char*> environment = {state.data(), path.data(), nullptr};

  const int output = open(output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (output < 0) throw std::system_error(errno, std::generic_category(), output_file);
  start_ = std::chrono::steady_clock::now();
  pid_ = fork();
  if (pid_ == 0) become(program.c_str(), argument_pointers.data(), environment.data(), output);
  const int error = errno;
  close(output);
  if (pid_ < 0) throw std::system_error(error, std::generic_category(), "fork");
}

Child::~Child() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

Cost Child::wait() {
  int status = 0;
  rusage usage{};
  while (wait4(pid_, &status, 0, &usage) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "wait4");
  }
  const auto end = std::chrono::steady_clock::now();
  pid_ = -1;
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .wall = end - start_,
          .cpu = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
          .rss_mb = static_cast<double>(usage.ru_maxrss) / 1024.0};
}

Cost Child::stop() {
  kill(pid_, SIGTERM);
  return wait();
}

std::chrono::duration<double> Child::cpu_so_far() const {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    throw std::runtime_error("the child has ended");
  }
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

Cost wait_for_success(Child& child, const std::string& output_file) {
  const Cost cost = child.wait();
  if (cost.exit_code == 0) return cost;
  std::ifstream file(output_file);
  std::stringstream words;
  words << file.rdbuf();
  constexpr std::size_t kTail = 2000;
  const std::string all = words.str();
  throw std::runtime_error("a child ended with " + std::to_string(cost.exit_code) + ":\n" +
                           all.substr(all.size() > kTail ? all.size() - kTail : 0));
}

}  // namespace txbox::bench
