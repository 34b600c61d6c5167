#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include <doctest/doctest.h>

#include <txbox/store/file_guard.hpp>
#include <txbox/store/schema.hpp>

#include "support/app_database.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

using txbox::ErrorCode;
using txbox::store::check_file;
using txbox::store::file_set_identity;
using txbox::store::file_system_kind;
using txbox::store::FileSetIdentity;
using txbox::store::make_checked_file;
using txbox::store::relay_lock_holder;
using txbox::store::RelayLock;
using txbox::store::require_same_files;
using txbox::test::AppDatabase;
using txbox::test::code_of;
using txbox::test::TempDir;

namespace {

struct Pipe {
  Pipe() { REQUIRE(::pipe(ends) == 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void write_byte() const { REQUIRE(::write(ends[1], "x", 1) == 1); }
  void read_byte() const {
    char byte = 0;
    REQUIRE(::read(ends[0], &byte, 1) == 1);
  }
  int ends[2] = {-1, -1};
};

/// Runs in a child of fork(), whose exit code is the answer. No doctest there: it would report twice.
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int code_or_zero(const std::function<void()>& work) {
  const auto code = code_of(work);
  return code ? 100 + static_cast<int>(*code) : 0;
}

constexpr int kOwned = 100 + static_cast<int>(ErrorCode::owned);

/// A process that holds the lock, in the state that the test needs. Killed at the end.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    const Pipe ready;
    child_ = ::fork();
    if (child_ == 0) {
      try {
        const RelayLock lock = RelayLock::acquire(path);
        if (::write(ready.ends[1], "x", 1) == 1) ::pause();
      } catch (...) {
      }
      ::_exit(1);
    }
    ready.read_byte();
  }
  ~Holder() { kill_it(); }
  void stop() const {
    ::kill(child_, SIGSTOP);
    int status = 0;
    ::waitpid(child_, &status, WUNTRACED);
  }
  void kill_it() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }

 private:
  pid_t child_ = -1;
};

std::string make_database(const TempDir& dir, const std::string& name = "shop.db") {
  std::string path = dir.file(name);
  AppDatabase app(path);
  txbox::store::install(app, {});
  return path;
}

}  // namespace

TEST_CASE("an ordinary database passes, in use or not, and so does an empty file") {
  const TempDir dir;
  const std::string path = make_database(dir);
  check_file(path);
  AppDatabase app(path);
  app.run("INSERT INTO outbox(topic) VALUES ('t')");
  check_file(path);
  std::ofstream(dir.file("empty.db")).flush();
  check_file(dir.file("empty.db"));
}

TEST_CASE("looking at a file leaves SQLite's locks on it as they are") {
  const TempDir dir;
  const std::string path = make_database(dir);
  AppDatabase app(path);
  app.run("BEGIN IMMEDIATE; INSERT INTO outbox(topic) VALUES ('t')");
  check_file(path);
  { const RelayLock lock = RelayLock::acquire(path); }
  const int other = in_child([&] {
    sqlite3* db = nullptr;
    sqlite3_open(path.c_str(), &db);
    return sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_BUSY ? 5 : 1;
  });
  CHECK(other == 5);
  app.run("COMMIT");
}

TEST_CASE("what WAL or the lock cannot serve is refused before the file is opened") {
  const TempDir dir;
  const std::string path = make_database(dir);
  CHECK(code_of([&] { check_file(dir.file("none.db")); }) == ErrorCode::moved);
  CHECK(code_of([&] { check_file(path + "/below"); }) == ErrorCode::moved);
  CHECK(code_of([&] { check_file(dir.path()); }) == ErrorCode::unsupported_file);
  std::ofstream(dir.file("text.db")) << "this is not a database, but it is long enough";
  CHECK(code_of([&] { check_file(dir.file("text.db")); }) == ErrorCode::corrupt);
  std::ofstream(dir.file("short.db")) << "SQL";
  CHECK(code_of([&] { check_file(dir.file("short.db")); }) == ErrorCode::corrupt);
  std::filesystem::create_hard_link(path, dir.file("link.db"));
  CHECK(code_of([&] { check_file(path); }) == ErrorCode::unsupported_file);
}

TEST_CASE("a file under a mount point of its own is refused") {
  // Containers mount single files, such as /etc/hosts. Where none is, a file of the kernel's own is as unfit.
  std::ifstream mounts("/proc/self/mountinfo");
  std::string line;
  std::optional<std::string> mounted;
  while (std::getline(mounts, line) && !mounted) {
    std::string target = line;
    for (int field = 0; field < 4; ++field) target.erase(0, target.find(' ') + 1);
    target.erase(target.find(' '));
    std::error_code ignored;
    if (std::filesystem::is_regular_file(target, ignored)) mounted = target;
  }
  if (mounted) {
    CHECK(code_of([&] { check_file(*mounted); }) == ErrorCode::unsupported_file);
  } else {
    CHECK(code_of([&] { check_file("/proc/self/mountinfo"); }) == ErrorCode::unsupported_file);
  }
}

TEST_CASE("a file, -wal or -shm that this user cannot write is refused") {
  const TempDir dir;
  const std::string path = make_database(dir);
  AppDatabase app(path);
  app.run("INSERT INTO outbox(topic) VALUES ('t')");
  std::filesystem::permissions(dir.path(), std::filesystem::perms::all);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::filesystem::permissions(path + suffix, std::filesystem::perms(0666));
  }
  const auto as_nobody = [&] {
    return in_child([&] {
      if (::geteuid() == 0 && ::setuid(65534) != 0) return 1;
      return code_or_zero([&] { check_file(path); });
    });
  };
  constexpr int kUnsupported = 100 + static_cast<int>(ErrorCode::unsupported_file);
  CHECK(as_nobody() == 0);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    CAPTURE(suffix);
    std::filesystem::permissions(path + suffix, std::filesystem::perms(0444));
    CHECK(as_nobody() == kUnsupported);
    std::filesystem::permissions(path + suffix, std::filesystem::perms(0666));
  }
  std::filesystem::permissions(dir.path(), std::filesystem::perms(0555));
  CHECK(as_nobody() == kUnsupported);
  std::filesystem::permissions(dir.path(), std::filesystem::perms::all);
}

TEST_CASE("file systems that another machine or process serves are told by their number") {
  for (const std::int64_t type :
       {0x6969L, 0xff534d42L, 0xfe534d42L, 0x517bL, 0x65735546L, 0x01021997L, 0x00c36400L, 0x6a656a63L}) {
    CAPTURE(type);
    CHECK_FALSE(file_system_kind(type).shared_memory_safe);
  }
  CHECK(file_system_kind(0xff534d42L).name == "cifs");
  // The same number, as a 32-bit system's signed word gives it.
  CHECK(file_system_kind(static_cast<std::int32_t>(0xff534d42U)).name == "cifs");
  for (const std::int64_t type : {0xef53L, 0x58465342L, 0x9123683eL, 0x01021994L, 0x794c7630L, 0x12345L}) {
    CHECK(file_system_kind(type).shared_memory_safe);
  }
}

TEST_CASE("one relay a file: refused through the same path, a symlink, a hard link and in another process") {
  const TempDir dir;
  const std::string path = make_database(dir);
  std::filesystem::create_symlink(path, dir.file("symlink.db"));
  std::filesystem::create_hard_link(path, dir.file("hardlink.db"));
  const auto attempt = [](const std::string& file) { return [file] { RelayLock::acquire(file); }; };
  {
    const RelayLock lock = RelayLock::acquire(path);
    for (const std::string& name : {path, dir.file("symlink.db"), dir.file("hardlink.db")}) {
      CHECK(code_of(attempt(name)) == ErrorCode::owned);
      CHECK(in_child([&] { return code_or_zero(attempt(name)); }) == kOwned);
    }
  }
  CHECK_FALSE(code_of(attempt(dir.file("symlink.db"))).has_value());
  CHECK(code_of(attempt(dir.file("none.db"))) == ErrorCode::moved);
}

TEST_CASE("a lock moves with its object and is given up once") {
  const TempDir dir;
  const std::string path = make_database(dir);
  std::optional<RelayLock> kept;
  {
    RelayLock lock = RelayLock::acquire(path);
    kept.emplace(std::move(lock));
  }
  CHECK(code_of([&] { RelayLock::acquire(path); }) == ErrorCode::owned);
  kept.reset();
  CHECK_FALSE(code_of([&] { RelayLock::acquire(path); }).has_value());
}

TEST_CASE("a frozen holder keeps the file, a killed one does not") {
  const TempDir dir;
  const std::string path = make_database(dir);
  Holder holder(path);
  CHECK(code_of([&] { RelayLock::acquire(path); }) == ErrorCode::owned);
  holder.stop();
  CHECK(code_of([&] { RelayLock::acquire(path); }) == ErrorCode::owned);
  holder.kill_it();
  CHECK_FALSE(code_of([&] { RelayLock::acquire(path); }).has_value());
}

TEST_CASE("a program that a holder started does not keep the lock of the dead") {
  const TempDir dir;
  const std::string path = make_database(dir);
  const Pipe ready;
  const Pipe alive;  // `cat` ends when its input does.
  const pid_t holder = ::fork();
  if (holder == 0) {
    const std::optional<RelayLock> lock(RelayLock::acquire(path));
    if (::fork() == 0) {
      ::close(alive.ends[1]);
      ::dup2(alive.ends[0], STDIN_FILENO);
      ::dup2(ready.ends[1], STDOUT_FILENO);
      ::execlp("sh", "sh", "-c", "printf x; exec cat >/dev/null", nullptr);
      ::_exit(1);
    }
    ::pause();
    ::_exit(1);
  }
  ready.read_byte();
  CHECK(code_of([&] { RelayLock::acquire(path); }) == ErrorCode::owned);
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  CHECK_FALSE(code_of([&] { RelayLock::acquire(path); }).has_value());
}

TEST_CASE("a standby asks again until the holder is gone") {
  const TempDir dir;
  const std::string path = make_database(dir);
  Holder holder(path);
  CHECK_FALSE(RelayLock::try_acquire(path).has_value());
  CHECK_FALSE(RelayLock::try_acquire(path).has_value());
  holder.kill_it();
  auto taken = RelayLock::try_acquire(path);
  CHECK(taken.has_value());
  CHECK_FALSE(RelayLock::try_acquire(path).has_value());
  taken.reset();
  CHECK(RelayLock::try_acquire(path).has_value());
  CHECK(code_of([&] { RelayLock::try_acquire(dir.file("none.db")); }) == ErrorCode::moved);
}

TEST_CASE("the kernel names the holder, and nobody once it is gone") {
  const TempDir dir;
  const std::string path = make_database(dir);
  CHECK_FALSE(relay_lock_holder(path).has_value());
  {
    const RelayLock lock = RelayLock::acquire(path);
    const auto holder = relay_lock_holder(path);
    REQUIRE(holder.has_value());
    CHECK(holder->pid == ::getpid());
  }
  CHECK_FALSE(relay_lock_holder(path).has_value());
  CHECK_FALSE(relay_lock_holder(dir.file("none.db")).has_value());
}

TEST_CASE("the descriptor of a deleted file ends with its lock, any other stays") {
  const TempDir dir;
  const std::string path = make_database(dir);
  const auto open_descriptors = [] {
    const auto all = std::filesystem::directory_iterator("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = open_descriptors();
  { const RelayLock lock = RelayLock::acquire(path); }
  CHECK(open_descriptors() == before + 1);
  {
    const RelayLock lock = RelayLock::acquire(path);
    std::filesystem::remove(path);
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("a -wal that was replaced is not that of the open database") {
  const TempDir dir;
  AppDatabase app(dir.file("a.db"));
  app.run("CREATE TABLE t(i)");
  const FileSetIdentity files = file_set_identity(dir.file("a.db"));
  require_same_files(dir.file("a.db"), files);
  std::filesystem::copy(dir.file("a.db-wal"), dir.file("other"));
  std::filesystem::rename(dir.file("other"), dir.file("a.db-wal"));
  CHECK(code_of([&] { require_same_files(dir.file("a.db"), files); }) == ErrorCode::moved);
  std::filesystem::remove(dir.file("a.db-wal"));
  CHECK(code_of([&] { static_cast<void>(file_set_identity(dir.file("a.db"))); }) == ErrorCode::moved);
}

TEST_CASE("another file under the old name is another lock") {
  const TempDir dir;
  const std::string path = make_database(dir);
  const RelayLock lock = RelayLock::acquire(path);
  std::filesystem::rename(path, dir.file("old.db"));
  make_database(dir);
  CHECK_FALSE(code_of([&] { RelayLock::acquire(path); }).has_value());
  CHECK(code_of([&] { RelayLock::acquire(dir.file("old.db")); }) == ErrorCode::owned);
}

TEST_CASE("a file's identity tells copies apart") {
  const TempDir dir;
  const std::string path = make_database(dir);
  std::filesystem::copy_file(path, dir.file("copy.db"));
  const auto one = txbox::store::file_identity(path);
  const auto copy = txbox::store::file_identity(dir.file("copy.db"));
  CHECK(one.device == copy.device);
  CHECK(one.inode != copy.inode);
  CHECK(one.machine_id == copy.machine_id);
  CHECK(one.machine_id.find('\n') == std::string::npos);
  CHECK(code_of([&] { return txbox::store::file_identity(dir.file("none.db")); }) == ErrorCode::moved);
}

TEST_CASE("a new file is made, checked like an old one, and gone again where it is refused") {
  const TempDir dir;
  const std::string path = dir.file("new.db");
  make_checked_file(path);
  CHECK(std::filesystem::file_size(path) == 0);
  make_checked_file(path);
  std::filesystem::create_hard_link(path, dir.file("other.db"));
  CHECK(code_of([&] { make_checked_file(path); }) == ErrorCode::unsupported_file);
  CHECK(std::filesystem::exists(path));
  CHECK(code_of([] { make_checked_file(":memory:"); }) == ErrorCode::unsupported_file);
  CHECK_FALSE(std::filesystem::exists(":memory:"));
  CHECK(code_of([] { make_checked_file(""); }) == ErrorCode::unsupported_file);
  CHECK(code_of([&] { make_checked_file(dir.file("no/such.db")); }) == ErrorCode::moved);
}
