#include "relay/demo/handler_tally.hpp"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <txbox/base/error.hpp>

#include "support/temp_dir.hpp"

using txbox::relay::demo::HandlerTally;

TEST_CASE("what a process counted outlives its SIGKILL") {
  const txbox::test::TempDir folder;
  const HandlerTally tally(folder.file("tally"));
  CHECK(tally.count() == 0);
  const pid_t child = fork();
  if (child == 0) {
    HandlerTally of_child(folder.file("tally"));
    of_child.add();
    of_child.add();
    raise(SIGKILL);
  }
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(tally.count() == 2);
  // The next life goes on counting where that one ended.
  HandlerTally next(folder.file("tally"));
  next.add();
  CHECK(tally.count() == 3);
}

TEST_CASE("a tally that cannot be shared is an error") {
  const txbox::test::TempDir folder;
  CHECK_THROWS_AS(HandlerTally(folder.file("no folder/tally")), txbox::Error);
}
