#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <poll.h>

#include <doctest/doctest.h>

#include <txbox/store/schema.hpp>

#include "relay/engine/store_worker.hpp"
#include "support/app_database.hpp"
#include "support/temp_dir.hpp"

namespace txbox::test {

using namespace relay;

namespace {

/// A process that has a file for itself until this ends.
class SoleUser {
 public:
  explicit SoleUser(const std::string& path) {
    REQUIRE(::pipe(ready_.data()) == 0);
    REQUIRE(::pipe(end_.data()) == 0);
    child_ = ::fork();
    REQUIRE(child_ >= 0);
    if (child_ == 0) hold(path);
    ::close(ready_[1]);
    ::close(end_[0]);
    char byte = 0;
    REQUIRE(::read(ready_[0], &byte, 1) == 1);
  }
  SoleUser(const SoleUser&) = delete;
  SoleUser& operator=(const SoleUser&) = delete;
  ~SoleUser() {
    ::close(end_[1]);
    ::close(ready_[0]);
    ::waitpid(child_, nullptr, 0);
  }

 private:
  [[noreturn]] void hold(const std::string& path) {
    ::close(end_[1]);
    try {
      AppDatabase app(path);
      app.run("PRAGMA locking_mode=EXCLUSIVE");
      app.run("BEGIN IMMEDIATE");
      char byte = 0;
      if (::write(ready_[1], &byte, 1) == 1) static_cast<void>(::read(end_[0], &byte, 1));
    } catch (const std::exception&) {
    }
    ::_exit(0);
  }

  std::array<int, 2> ready_{};
  std::array<int, 2> end_{};
  pid_t child_ = -1;
};

event::Pruned prune_once(StoreWorker& worker, const EventDescriptor& wake) {
  worker.submit(0, command::Prune{0, {.sent_before_ms = 1}});
  std::vector<StoreAnswer> answers;
  for (;;) {
    pollfd polled{.fd = wake.descriptor(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&polled, 1, 20'000) == 1);
    wake.clear();
    worker.take_answers(answers);
    for (const StoreAnswer& answer : answers) {
      if (const auto* pruned = std::get_if<event::Pruned>(&answer)) return *pruned;
      REQUIRE_FALSE(std::holds_alternative<StoreFailure>(answer));
    }
  }
}

}  // namespace

TEST_CASE("a step of retention that cannot even open its connection is put off") {
  const TempDir dir;
  const std::string path = dir.file("shop.db");
  {
    AppDatabase app(path);
    store::install(app, {});
  }
  // Before the worker's thread: a fork copies only the one that calls it.
  auto other = std::make_unique<SoleUser>(path);
  const EventDescriptor wake;
  Liveness liveness;
  StoreWorker worker(wake, liveness, {});
  worker.add_database(0, path, store::WitnessFile(dir.path(), "0190b4d1-0000-7000-8000-000000000000"));
  worker.start();
  CHECK(prune_once(worker, wake).put_off);
  other.reset();
  CHECK_FALSE(prune_once(worker, wake).put_off);
  CHECK(worker.lock_wait().count() == 1);
  worker.stop();
}

}  // namespace txbox::test
