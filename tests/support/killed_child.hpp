#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace txbox::test {

/// A program that does one thing to a file: `program FILE ACTION`.
struct ChildCall {
  std::string program;
  std::string file;
  std::string action;
};

/// Runs it to its end with a failpoint armed (none where the name is empty); true when it was killed there, false when
/// it ended well. Throws where it failed.
inline bool killed_at(const ChildCall& call, const char* failpoint) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("TXBOX_FAILPOINT", failpoint, 1);
    ::execl(call.program.c_str(), call.program.c_str(), call.file.c_str(), call.action.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return true;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error("the child failed at " + call.action);
  return false;
}

}  // namespace txbox::test
