#include "relay/config/listen_address.hpp"

#include <string>

#include <doctest/doctest.h>

namespace txbox::relay {

TEST_CASE("an address and a port are read and said again in one way") {
  CHECK(parse_listen_address("127.0.0.1:9464")->text() == "127.0.0.1:9464");
  CHECK(parse_listen_address("localhost:1")->text() == "127.0.0.1:1");
  CHECK(parse_listen_address("[0:0::1]:9464")->text() == "[::1]:9464");
  CHECK(parse_listen_address("0.0.0.0:65535")->text() == "0.0.0.0:65535");
  CHECK(parse_listen_address("unix:/run/relay.sock")->text() == "unix:/run/relay.sock");
}

TEST_CASE("what is no address is not guessed at") {
  for (const char* text : {"", "off", "9464", ":9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                           "127.0.0.1:9464x", "example.com:9464", "::1:9464", "127.1:9464", "[127.0.0.1]:9464",
                           "unix:", "unix:relative.sock", "http://127.0.0.1:9464"})
    CHECK_FALSE_MESSAGE(parse_listen_address(text).has_value(), text);
  CHECK_FALSE(parse_listen_address("unix:/" + std::string(200, 'x')).has_value());
}

TEST_CASE("what only this machine reaches is told from what others reach") {
  for (const char* text : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "unix:/x"})
    CHECK_MESSAGE(parse_listen_address(text)->is_local(), text);
  for (const char* text : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "128.0.0.1:1", "[fe80::1]:1"})
    CHECK_FALSE_MESSAGE(parse_listen_address(text)->is_local(), text);
}

}  // namespace txbox::relay
