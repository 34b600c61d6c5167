#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>
#include <string>

#include <doctest/doctest.h>

#include "mock_kafka.hpp"
#include "relay_process.hpp"
#include "support/kafka_reader.hpp"

namespace txbox::test {

namespace {

/// The exit code of the executable with `words`, which a shell reads: redirections are what these tests are about.
int relay_in_shell(const Shop& shop, const std::string& words) {
  const std::string command =
      "STATE_DIRECTORY='" + shop.folder.file("state") + "' '" + TXBOX_RELAY_BINARY + "' " + words;
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string drain_of(const Shop& shop) {
  return "run --db '" + shop.path + "' --brokers " + mock_kafka().bootstrap_servers() + " --drain --timeout 15s ";
}

}  // namespace

TEST_CASE("output that cannot be written is a failure") {
  Shop shop;
  shop.add("orders", "a", "1");
  const std::string file = " --db '" + shop.path + "' ";
  const std::string quiet = " 2>'" + shop.folder.file("words") + "'";
  CHECK(relay_in_shell(shop, "ls" + file + ">/dev/full" + quiet) == 1);
  CHECK(relay_in_shell(shop, "status --json" + file + ">/dev/full" + quiet) == 1);
  CHECK(relay_in_shell(shop, "--version >/dev/full" + quiet) == 1);
  CHECK(relay_in_shell(shop, "status" + file + ">&-" + quiet) == 1);
  CHECK(relay_in_shell(shop, "status" + file + ">/dev/null 2>&- 0<&-") == 0);
}

TEST_CASE("a relay goes on without its standard descriptors and without a reader of its log") {
  Shop shop;
  const std::string topic = new_mock_topic();
  KafkaReader reader(mock_kafka().bootstrap_servers());
  shop.add(topic, "a", "0");
  CHECK(relay_in_shell(shop, drain_of(shop) + "0<&- >&- 2>&-") == 0);
  CHECK(reader.await(topic, 1).size() == 1);
  shop.add(topic, "a", "1");
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  close(ends[0]);
  // The child inherits it; a shell's redirection takes no two-digit descriptor.
  const int log = dup(STDERR_FILENO);
  REQUIRE(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
  const int code = relay_in_shell(shop, drain_of(shop));
  REQUIRE(dup2(log, STDERR_FILENO) == STDERR_FILENO);
  for (const int descriptor : {log, ends[1]}) close(descriptor);
  CHECK(code == 0);
  CHECK(reader.await(topic, 2).size() == 2);
}

}  // namespace txbox::test
