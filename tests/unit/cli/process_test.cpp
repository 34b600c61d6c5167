#include "relay/cli/process.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <doctest/doctest.h>

namespace txbox::relay {

namespace {

/// What `check` answers in a child process, whose descriptors, signals and limits are nobody else's.
template <typename Check>
bool holds_in_child(Check check) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(check() ? 0 : 1);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("no file takes the number of a standard descriptor that was closed") {
  CHECK(holds_in_child([] {
    for (int descriptor = 0; descriptor <= STDERR_FILENO; ++descriptor) close(descriptor);
    reserve_standard_descriptors();
    const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return next > STDERR_FILENO && write(STDOUT_FILENO, "x", 1) < 0 && write(STDERR_FILENO, "x", 1) < 0;
  }));
}

TEST_CASE("standard descriptors that are open stay what they are") {
  CHECK(holds_in_child([] {
    int ends[2];
    if (pipe(ends) != 0 || dup2(ends[1], STDOUT_FILENO) < 0) return false;
    close(STDIN_FILENO);
    reserve_standard_descriptors();
    char letter = 0;
    return write(STDOUT_FILENO, "x", 1) == 1 && read(ends[0], &letter, 1) == 1 && letter == 'x';
  }));
}

TEST_CASE("a log without a reader does not end the process") {
  CHECK(holds_in_child([] {
    ignore_broken_pipes();
    int ends[2];
    if (pipe(ends) != 0) return false;
    close(ends[0]);
    return write(ends[1], "x", 1) < 0;
  }));
}

TEST_CASE("the limit of descriptors rises to what the administrator allows") {
  CHECK(holds_in_child([] {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    limit.rlim_cur = 64;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    raise_descriptor_limit();
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == limit.rlim_max;
  }));
}

}  // namespace txbox::relay
