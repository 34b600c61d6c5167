#include "relay/http/listen_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <txbox/base/error.hpp>

namespace txbox::relay {

namespace {

constexpr int kBacklog = 64;
constexpr mode_t kSocketMode = 0600;

sockaddr_un unix_address(const std::string& path) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

/// Whether a socket's file is left over from a process that is gone.
bool is_stale(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return false;
  const sockaddr_un address = unix_address(path);
  const bool refused =
      ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno == ECONNREFUSED;
  ::close(probe);
  return refused;
}

}  // namespace

ListenSocket::ListenSocket(ListenAddress address) : address_(std::move(address)) {
  address_.is_unix() ? listen_on_unix() : listen_on_ip();
}

ListenSocket::~ListenSocket() {
  struct stat status {};
  if (address_.is_unix() && ::lstat(address_.socket_path.c_str(), &status) == 0 && status.st_ino == inode_)
    ::unlink(address_.socket_path.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

void ListenSocket::refuse(int error) const {
  const std::string reason = error == EADDRINUSE ? "is in use by another program"
                                                 : std::string("cannot be listened on: ") + std::strerror(error);
  if (descriptor_ >= 0) ::close(descriptor_);
  throw Error(ErrorCode::configuration, "http.listen: " + address_.text() + " " + reason);
}

void ListenSocket::open(int family) {
  descriptor_ = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor_ < 0) refuse(errno);
}

void ListenSocket::listen_on_unix() {
  if (is_stale(address_.socket_path)) ::unlink(address_.socket_path.c_str());
  open(AF_UNIX);
  // The file gets the socket's own mode, so that at no moment others may connect.
  if (::fchmod(descriptor_, kSocketMode) != 0) refuse(errno);
  const sockaddr_un address = unix_address(address_.socket_path);
  if (::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) refuse(errno);
  struct stat status {};
  if (::lstat(address_.socket_path.c_str(), &status) == 0) inode_ = status.st_ino;
  if (::listen(descriptor_, kBacklog) != 0) refuse(errno);
}

void ListenSocket::listen_on_ip() {
  sockaddr_storage storage{};
  socklen_t size = 0;
  if (address_.host.find(':') == std::string::npos) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(address_.port);
    inet_pton(AF_INET, address_.host.c_str(), &v4->sin_addr);
    size = sizeof *v4;
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(address_.port);
    inet_pton(AF_INET6, address_.host.c_str(), &v6->sin6_addr);
    size = sizeof *v6;
  }
  open(storage.ss_family);
  // A relay that starts again must not wait for the connections of the one before to be forgotten.
  const int on = 1;
  ::setsockopt(descriptor_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (::bind(descriptor_, address, size) != 0 || ::listen(descriptor_, kBacklog) != 0) refuse(errno);
  if (address_.port != 0) return;
  if (::getsockname(descriptor_, address, &size) != 0) refuse(errno);
  // The port lies in one place in both kinds of address.
  address_.port = ntohs(reinterpret_cast<sockaddr_in*>(&storage)->sin_port);
}

}  // namespace txbox::relay
