#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include <txbox/store/file_guard.hpp>

#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

using txbox::ErrorCode;
using txbox::store::Witness;
using txbox::store::WitnessFile;
using txbox::test::code_of;
using txbox::test::TempDir;

namespace {

constexpr const char* kUuid = "018bcfe5-6800-7000-8000-0123456789ab";

Witness witness() {
  return {.incarnation = 3,
          .anchor_id = 42,
          .anchor_nonce_prefix = 0xfedcba9876543210U,
          .device = 7,
          .inode = 0xffffffffffffffffU,
          .machine_id = "0123abcd"};
}

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    const char* before = std::getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    if (value == nullptr) {
      ::unsetenv(name);
    } else {
      ::setenv(name, value, 1);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    if (had_) {
      ::setenv(name_, before_.c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::string before_;
  bool had_ = false;
};

}  // namespace

TEST_CASE("a witness is read as it was written, and the last one counts") {
  const TempDir dir;
  const WitnessFile file(dir.file("state/deep"), kUuid);
  CHECK_FALSE(file.read().has_value());
  file.write({});
  file.write(witness());
  const auto read = WitnessFile(dir.file("state/deep"), kUuid).read();
  REQUIRE(read.has_value());
  CHECK(read->incarnation == 3);
  CHECK(read->anchor_id == 42);
  CHECK(read->anchor_nonce_prefix == 0xfedcba9876543210U);
  CHECK(read->device == 7);
  CHECK(read->inode == 0xffffffffffffffffU);
  CHECK(read->machine_id == "0123abcd");
  CHECK_FALSE(WitnessFile(dir.file("state/deep"), "0").read().has_value());
  struct stat status {};
  REQUIRE(::stat(dir.file("state/deep").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("a witness that is torn or not ours is no witness, and no error") {
  const TempDir dir;
  const WitnessFile file(dir.path(), kUuid);
  file.write(witness());
  const std::string path = dir.file(std::string(kUuid) + ".witness");
  std::ifstream source(path);
  const std::string whole{std::istreambuf_iterator<char>(source), std::istreambuf_iterator<char>()};
  for (std::size_t size = 0; size + 1 < whole.size(); ++size) {
    std::ofstream(path, std::ios::trunc) << whole.substr(0, size);
    CHECK_FALSE(file.read().has_value());
  }
  for (const char* text :
       {"txbox-witness 1\nanchor_id x\nend\n", "txbox-witness 2\nend\n", "txbox-witness 1\nanchor_id 1 \nend\n"}) {
    std::ofstream(path, std::ios::trunc) << text;
    CHECK_FALSE(file.read().has_value());
  }
  std::ofstream(path, std::ios::trunc) << "txbox-witness 1\nanchor_id 5\nof_a_later_version 1\nend\n";
  CHECK(file.read().value_or(Witness{}).anchor_id == 5);
}

TEST_CASE("a store_uuid that is none does not become a path") {
  const TempDir dir;
  for (const char* uuid : {"", "../../etc/passwd", "A", "a/b"}) {
    CHECK(code_of([&] { WitnessFile(dir.path(), uuid); }) == ErrorCode::schema_differs);
  }
}

TEST_CASE("a state directory that cannot be made is bad configuration, one that cannot be written a failure") {
  const TempDir dir;
  std::ofstream(dir.file("file")).flush();
  CHECK(code_of([&] { WitnessFile(dir.file("file/below"), kUuid); }) == ErrorCode::configuration);
  const WitnessFile file(dir.file("state"), kUuid);
  std::filesystem::remove_all(dir.file("state"));
  CHECK(code_of([&] { file.write(witness()); }) == ErrorCode::failure);
}

TEST_CASE("the state directory follows systemd, then XDG, then HOME") {
  const Environment home("HOME", "/home/a");
  {
    const Environment xdg("XDG_STATE_HOME", "/xdg");
    {
      const Environment systemd("STATE_DIRECTORY", "/var/lib/one:/var/lib/two");
      CHECK(txbox::store::default_state_directory() == "/var/lib/one");
    }
    const Environment systemd("STATE_DIRECTORY", nullptr);
    CHECK(txbox::store::default_state_directory() == "/xdg/outbox-relay");
  }
  const Environment systemd("STATE_DIRECTORY", nullptr);
  const Environment relative("XDG_STATE_HOME", "relative");
  CHECK(txbox::store::default_state_directory() == "/home/a/.local/state/outbox-relay");
  const Environment none("HOME", nullptr);
  CHECK(code_of([] { return txbox::store::default_state_directory(); }) == ErrorCode::configuration);
}
