#include "relay/config/listen_address.hpp"

#include <arpa/inet.h>
#include <sys/un.h>

#include <array>
#include <charconv>

namespace txbox::relay {

namespace {

constexpr std::string_view kUnixPrefix = "unix:";

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return port;
}

std::optional<ListenAddress> unix_address(std::string_view path) {
  if (!path.starts_with('/') || path.size() >= sizeof(sockaddr_un::sun_path)) return std::nullopt;
  if (path.find('\0') != std::string_view::npos) return std::nullopt;
  return ListenAddress{.host = {}, .port = 0, .socket_path = std::string(path)};
}

/// The one spelling of an address, or nothing.
std::string normal(int family, const std::string& text) {
  std::array<char, INET6_ADDRSTRLEN> out{};
  in6_addr address{};
  if (inet_pton(family, text.c_str(), &address) != 1) return {};
  return inet_ntop(family, &address, out.data(), out.size());
}

}  // namespace

bool ListenAddress::is_local() const noexcept { return is_unix() || is_loopback(host); }

std::string ListenAddress::text() const {
  if (is_unix()) return std::string(kUnixPrefix) + socket_path;
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return name + ":" + std::to_string(port);
}

std::optional<ListenAddress> parse_listen_address(std::string_view text) {
  if (text.starts_with(kUnixPrefix)) return unix_address(text.substr(kUnixPrefix.size()));
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = parse_port(text.substr(colon + 1));
  if (!port) return std::nullopt;
  std::string host(text.substr(0, colon));
  if (host == "localhost") host = "127.0.0.1";
  if (host.starts_with('[') && host.ends_with(']')) {
    host = normal(AF_INET6, host.substr(1, host.size() - 2));
  } else {
    host = normal(AF_INET, host);
  }
  if (host.empty()) return std::nullopt;
  return ListenAddress{.host = host, .port = *port, .socket_path = {}};
}

bool is_loopback(const std::string& ip_address) noexcept {
  in_addr v4{};
  if (inet_pton(AF_INET, ip_address.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, ip_address.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool is_ip_address(const std::string& text) noexcept {
  in6_addr address{};
  return inet_pton(AF_INET, text.c_str(), &address) == 1 || inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

}  // namespace txbox::relay
