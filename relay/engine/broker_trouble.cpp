#include "relay/engine/broker_trouble.hpp"

#include <chrono>

#include <txbox/kafka/errors.hpp>

namespace txbox::relay {

namespace {

constexpr std::chrono::seconds kToldAgainAfter{30};

bool contains(std::string_view text, std::string_view part) noexcept {
  return text.find(part) != std::string_view::npos;
}

/// A handshake that fails has the code of an outage, now and then where the client does not like the broker's
/// certificate and always where the broker does not like the client's: only OpenSSL's words differ ("error:0A000086:SSL
/// routines::certificate verify failed", "sslv3 alert bad certificate"). A broker that dies sends no alert; what
/// OpenSSL says of that is an unexpected end.
bool handshake_failed(std::string_view text) noexcept {
  return contains(text, " alert ") || (contains(text, "SSL routines") && !contains(text, "unexpected eof"));
}

std::string_view words_of(BrokerTrouble trouble) noexcept {
  switch (trouble) {
    case BrokerTrouble::auth_failed: return "Kafka refuses the credentials";
    case BrokerTrouble::tls_failed: return "TLS to Kafka fails";
    case BrokerTrouble::unreachable: return "Kafka cannot be reached";
    case BrokerTrouble::other: return "Kafka";
  }
  return "Kafka";
}

}  // namespace

BrokerTrouble trouble_of(const kafka::ClientError& error) {
  switch (kafka::scope_of(error.error)) {
    case kafka::ErrorScope::authentication: return BrokerTrouble::auth_failed;
    case kafka::ErrorScope::tls: return BrokerTrouble::tls_failed;
    case kafka::ErrorScope::transport:
      return handshake_failed(error.text) ? BrokerTrouble::tls_failed : BrokerTrouble::unreachable;
    case kafka::ErrorScope::none:
    case kafka::ErrorScope::record:
    case kafka::ErrorScope::topic:
    case kafka::ErrorScope::producer:
    case kafka::ErrorScope::other: return BrokerTrouble::other;
  }
  return BrokerTrouble::other;
}

std::string_view to_string(BrokerTrouble trouble) noexcept {
  switch (trouble) {
    case BrokerTrouble::auth_failed: return "credentials";
    case BrokerTrouble::tls_failed: return "tls";
    case BrokerTrouble::unreachable: return "unreachable";
    case BrokerTrouble::other: return "other";
  }
  return "other";
}

std::string trouble_text(const kafka::ClientError& error) {
  return std::string(words_of(trouble_of(error))) + ": " + error.text + "; tried again until it works";
}

std::optional<std::string> TroubleTalk::words(const kafka::ClientError& error, SteadyTime now) {
  const BrokerTrouble trouble = trouble_of(error);
  if (trouble == told_ && now - told_at_ < kToldAgainAfter) return std::nullopt;
  told_ = trouble;
  told_at_ = now;
  return trouble_text(error);
}

}  // namespace txbox::relay
