#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace txbox::relay {

/// Where the pages are served: an IP address and a port, or a socket in the file system.
struct ListenAddress {
  std::string host;  ///< "127.0.0.1", "::1", as inet_ntop(3) writes it; empty for a UNIX socket.
  std::uint16_t port = 0;
  std::string socket_path;  ///< Empty for an IP address.

  [[nodiscard]] bool is_unix() const noexcept { return !socket_path.empty(); }
  /// Nobody but this machine can reach it.
  [[nodiscard]] bool is_local() const noexcept;
  /// As a person writes it: "[::1]:9464".
  [[nodiscard]] std::string text() const;
};

/// "127.0.0.1:9464", "[::1]:9464", "localhost:9464", "unix:/run/outbox-relay.sock"; port 0 is any that is free. Names
/// other than localhost are not looked up: what the relay opens must not depend on somebody's DNS.
[[nodiscard]] std::optional<ListenAddress> parse_listen_address(std::string_view text);

/// An address of 127.0.0.0/8 or ::1, in digits.
[[nodiscard]] bool is_loopback(const std::string& ip_address) noexcept;
/// An IP address in digits, without brackets and port.
[[nodiscard]] bool is_ip_address(const std::string& text) noexcept;

}  // namespace txbox::relay
