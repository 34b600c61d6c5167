#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <txbox/kafka/settings.hpp>

#include "relay/config/setting.hpp"

namespace txbox::relay {

struct KafkaSettings {
  kafka::Properties properties;  ///< In the order given, secrets read from their files: never log them.
  std::vector<std::string> warnings;
};

/// Judges and resolves the settings of librdkafka among `settings`; the rest is passed over. Throws configuration with
/// the place that a setting came from: for one that breaks a promise of the relay (with the reason), that librdkafka
/// does not know or refuses, and for a secret given as such, for flags, environments and configuration files are read
/// by others: `NAME_file` names the file that holds it, whose last line end is not part of it. A secret's file that
/// everybody may read or write is a warning. No text repeats a secret or what may be one.
[[nodiscard]] KafkaSettings kafka_settings(std::span<const Setting> settings);

/// Every `NAME_file` of the linked librdkafka's secrets.
[[nodiscard]] std::vector<std::string> secret_file_names();
/// Of "sasl.password_file" the secret, "sasl.password"; empty for what names no secret's file.
[[nodiscard]] std::string secret_of(std::string_view property);

/// `text` is that of -X: NAME=VALUE. Throws configuration, and repeats nothing of it, for it may be a secret.
[[nodiscard]] Setting property_of_flag(const std::string& text);

}  // namespace txbox::relay
