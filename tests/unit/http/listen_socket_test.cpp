#include "relay/http/listen_socket.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>

#include <doctest/doctest.h>

#include <txbox/base/error.hpp>

#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

namespace txbox::relay {

namespace {

ListenAddress unix_at(const std::string& path) { return *parse_listen_address("unix:" + path); }

void check_refusal(const ListenAddress& address, const std::string& reason) {
  const auto error = test::error_of([&] { const ListenSocket socket(address); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::configuration);
  CHECK(std::string(error->what()).find(reason) != std::string::npos);
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace

TEST_CASE("any port that is free is told, and is taken for the next one") {
  const ListenSocket socket(*parse_listen_address("127.0.0.1:0"));
  CHECK(socket.address().port != 0);
  check_refusal(socket.address(), "is in use by another program");
}

TEST_CASE("an address that this machine does not have is refused") {
  check_refusal(*parse_listen_address("192.0.2.1:9464"), "cannot be listened on");
}

TEST_CASE("a UNIX socket is its user's alone, and is gone afterwards") {
  const test::TempDir folder;
  const std::string path = folder.path() + "/relay.sock";
  {
    const ListenSocket socket(unix_at(path));
    struct stat status {};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    CHECK(S_ISSOCK(status.st_mode));
    CHECK((status.st_mode & 07777) == 0600);
    check_refusal(unix_at(path), "is in use by another program");
    CHECK(exists(path));
  }
  CHECK_FALSE(exists(path));
}

TEST_CASE("a socket that was left behind is taken over, and a file that is none is left alone") {
  const test::TempDir folder;
  const std::string path = folder.path() + "/relay.sock";
  const int left = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(left, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  ::close(left);
  { const ListenSocket socket(unix_at(path)); }

  std::ofstream(path) << "a person's file";
  check_refusal(unix_at(path), "is in use by another program");
  CHECK(exists(path));
}

}  // namespace txbox::relay
