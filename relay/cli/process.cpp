#include "relay/cli/process.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>

#include <txbox/base/error.hpp>

namespace txbox::relay {

void reserve_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // Those below are open, so this one is the lowest number that is free. What was closed is read-only: who prints to
    // a closed descriptor still learns that nothing arrived.
    if (::open("/dev/null", O_RDONLY) != descriptor)
      throw Error(ErrorCode::failure, "a standard descriptor is closed and /dev/null cannot take its place");
  }
}

void ignore_broken_pipes() noexcept { std::signal(SIGPIPE, SIG_IGN); }

void raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  // Where it fails the limit is as before, and opening a file says so.
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

bool output_arrived() {
  std::cout.flush();
  return std::cout.good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

}  // namespace txbox::relay
