#include "relay/http/host_check.hpp"

#include <doctest/doctest.h>

namespace txbox::relay {

namespace {
HostCheck check_for(const char* address, std::vector<std::string> names = {}) {
  return {*parse_listen_address(address), std::move(names)};
}
}  // namespace

TEST_CASE("on a loopback address only this machine's own names are served") {
  const HostCheck check = check_for("127.0.0.1:9464");
  for (const char* host : {"127.0.0.1:9464", "127.0.0.1", "localhost:9464", "LocalHost", "[::1]:9464", "127.1.2.3:1"})
    CHECK_MESSAGE(check.allows(host), host);
  for (const char* host : {"evil.example", "evil.example:9464", "127.0.0.1.evil.example", "localhost.evil.example", "",
                           "10.0.0.1:9464", "[::1", "[::1]evil", "localhost@evil.example", "evil.example:127.0.0.1"})
    CHECK_FALSE_MESSAGE(check.allows(host), host);
}

TEST_CASE("on an address for others, addresses in digits and names that were allowed are served") {
  const HostCheck check = check_for("0.0.0.0:9464", {"Relay.Internal"});
  for (const char* host : {"10.1.2.3:9464", "[2001:db8::1]:9464", "relay.internal:9464", "RELAY.internal", "localhost"})
    CHECK_MESSAGE(check.allows(host), host);
  for (const char* host : {"evil.example:9464", "xrelay.internal", "10.1.2.3.evil.example"})
    CHECK_FALSE_MESSAGE(check.allows(host), host);
}

TEST_CASE("no browser reaches a UNIX socket, so that any name will do there") {
  CHECK(check_for("unix:/run/relay.sock").allows("anything"));
}

}  // namespace txbox::relay
