#pragma once

#include <cstdint>

#include "relay/config/listen_address.hpp"

namespace txbox::relay {

/// A socket that listens. A UNIX socket is the user's alone (0600); one that nobody serves any more is taken over, and
/// it is removed at the end. Single-threaded.
class ListenSocket {
 public:
  /// Throws configuration: the port or the path is taken, may not be had, or is no address of this machine.
  explicit ListenSocket(ListenAddress address);
  ListenSocket(const ListenSocket&) = delete;
  ListenSocket& operator=(const ListenSocket&) = delete;
  ~ListenSocket();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// With the port that was chosen where 0 was asked for.
  [[nodiscard]] const ListenAddress& address() const noexcept { return address_; }

 private:
  void listen_on_unix();
  void listen_on_ip();
  void open(int family);
  [[noreturn]] void refuse(int error) const;

  ListenAddress address_;
  int descriptor_ = -1;
  std::uint64_t inode_ = 0;  ///< Of the UNIX socket's file: another relay may have put its own there meanwhile.
};

}  // namespace txbox::relay
