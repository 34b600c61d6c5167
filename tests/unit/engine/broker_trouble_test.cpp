#include "relay/engine/broker_trouble.hpp"

#include <string>

#include <doctest/doctest.h>

namespace txbox::relay {

namespace {
// rd_kafka_resp_err_t, whose numbers are part of librdkafka's interface.
constexpr int kTransport = -195;
constexpr int kResolve = -193;
constexpr int kSsl = -181;
constexpr int kAuthentication = -169;
}  // namespace

TEST_CASE("wrong credentials, TLS that fails and a broker that is down have different words") {
  CHECK(trouble_of({kAuthentication, "SASL authentication error"}) == BrokerTrouble::auth_failed);
  CHECK(trouble_of({kSsl, "SSL handshake failed: certificate verify failed"}) == BrokerTrouble::tls_failed);
  CHECK(trouble_of({kTransport, "Connect to ipv4#127.0.0.1:9092 failed: Connection refused"}) ==
        BrokerTrouble::unreachable);
  CHECK(trouble_of({kResolve, "Failed to resolve"}) == BrokerTrouble::unreachable);
  CHECK(trouble_text({kAuthentication, "text"}) == "Kafka refuses the credentials: text; tried again until it works");
  CHECK(trouble_text({kSsl, "text"}).find("TLS to Kafka fails: text") == 0);
  CHECK(trouble_text({kTransport, "text"}).find("Kafka cannot be reached: text") == 0);
}

TEST_CASE("a client certificate that the broker refuses is TLS, though it has the code of an outage") {
  for (const char* text :
       {"Receive failed: error:0A000412:SSL routines::sslv3 alert bad certificate: SSL alert number 42",
        "error:14094416:SSL routines:ssl3_read_bytes:sslv3 alert certificate unknown"}) {
    CAPTURE(text);
    CHECK(trouble_of({kTransport, text}) == BrokerTrouble::tls_failed);
  }
}

TEST_CASE("a broker's certificate that the client does not like is TLS, also with the code of an outage") {
  const std::string text =
      "ssl://127.0.0.1:9093/bootstrap: error:0A000086:SSL routines::certificate verify failed (after 4ms in state "
      "SSL_HANDSHAKE)";
  CHECK(trouble_of({kTransport, text}) == BrokerTrouble::tls_failed);
}

TEST_CASE("a broker that dies is no trouble of TLS, whatever OpenSSL calls it") {
  for (const char* text : {"Receive failed: error:0A000126:SSL routines::unexpected eof while reading",
                           "SSL handshake failed: Disconnected: connecting to a PLAINTEXT broker listener?"}) {
    CAPTURE(text);
    CHECK(trouble_of({kTransport, text}) == BrokerTrouble::unreachable);
  }
}

TEST_CASE("a hint at another protocol is no certificate's fault") {
  CHECK(trouble_of({kTransport,
                    "Disconnected: verify that security.protocol is correctly configured, broker might "
                    "require SASL authentication"}) == BrokerTrouble::unreachable);
}

TEST_CASE("the same trouble is told once in a while, another at once") {
  TroubleTalk talk;
  const SteadyTime begin{};
  const kafka::ClientError refused{kTransport, "Connection refused"};
  CHECK(talk.words(refused, begin).has_value());
  CHECK_FALSE(talk.words(refused, begin + std::chrono::seconds(29)).has_value());
  CHECK_FALSE(talk.words({kResolve, "Failed to resolve"}, begin + std::chrono::seconds(29)).has_value());
  CHECK(talk.words({kAuthentication, "text"}, begin + std::chrono::seconds(29)).has_value());
  CHECK(talk.words(refused, begin + std::chrono::seconds(29)).has_value());
  CHECK(talk.words(refused, begin + std::chrono::seconds(60)).has_value());
}

}  // namespace txbox::relay
