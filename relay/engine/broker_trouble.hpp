#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <txbox/base/clock.hpp>
#include <txbox/kafka/producer.hpp>

namespace txbox::relay {

/// Why there is silence, as far as a client error tells: whoever mends it needs the credentials, the certificates or
/// the broker. None of these is a row's fault, and none costs one an attempt.
enum class BrokerTrouble { auth_failed, tls_failed, unreachable, other };
inline constexpr std::array kBrokerTroubles{BrokerTrouble::auth_failed, BrokerTrouble::tls_failed,
                                            BrokerTrouble::unreachable, BrokerTrouble::other};

[[nodiscard]] BrokerTrouble trouble_of(const kafka::ClientError& error);
/// "credentials", "tls", "unreachable" or "other", for programs.
[[nodiscard]] std::string_view to_string(BrokerTrouble trouble) noexcept;
/// "Kafka refuses the credentials: ...; tried again until it works", for people.
[[nodiscard]] std::string trouble_text(const kafka::ClientError& error);

/// Which of the errors that repeat for as long as the trouble lasts are worth a line.
class TroubleTalk {
 public:
  /// The words for this error; nothing where the same trouble was told a moment ago.
  [[nodiscard]] std::optional<std::string> words(const kafka::ClientError& error, SteadyTime now);

 private:
  std::optional<BrokerTrouble> told_;
  SteadyTime told_at_{};
};

}  // namespace txbox::relay
