#include "property_rules.hpp"

#include <algorithm>
#include <array>

#include <txbox/base/error.hpp>
#include <txbox/base/nearest_word.hpp>

namespace txbox::kafka {
namespace {

constexpr std::array kOwnedByAll{
    Owned{"enabled_events", "the program serves librdkafka's events itself"},
    Owned{"enable_sasl_queue", "the program serves librdkafka's events itself"},
    Owned{"log.queue", "the program serves librdkafka's log itself"},
};

/// librdkafka's own test hooks: an in-process mock cluster that forgets every record, callbacks given as text.
constexpr std::array<std::string_view, 2> kTestPrefixes{"test.", "ut_"};

constexpr std::array<std::string_view, 5> kSecrets{"sasl.oauthbearer.client.secret", "sasl.oauthbearer.config",
                                                   "sasl.password", "ssl.key.password", "ssl.keystore.password"};
/// librdkafka's later versions add properties of these endings; so may the next one.
constexpr std::array<std::string_view, 5> kSecretEndings{".password", ".secret", ".passphrase", ".key.pem", ".jwt"};

[[noreturn]] void refuse(std::string_view property, std::string_view reason) {
  throw Error(ErrorCode::configuration, "kafka property " + std::string(property) + ": " + std::string(reason));
}

void check_owned(std::string_view property, std::span<const Owned> owned_by_client) {
  for (const std::span<const Owned> list : {std::span<const Owned>(kOwnedByAll), owned_by_client}) {
    for (const Owned& owned : list) {
      if (property == owned.property) refuse(property, std::string(owned.reason) + "; leave it out");
    }
  }
  for (std::string_view prefix : kTestPrefixes) {
    if (property.starts_with(prefix)) refuse(property, "a test hook of librdkafka that loses records; leave it out");
  }
}

void check_property(const std::string& property, const std::string& value, const Promises& promises) {
  check_owned(property, promises.owned);
  // Each property is judged alone on a configuration that keeps every promise, so that the text names the culprit.
  const ConfigurationHandle configuration(rd_kafka_conf_new());
  set_properties(configuration.get(), promises.guaranteed);
  set_property(configuration.get(), property, value);
  for (const Rule& rule : promises.rules) {
    if (!rule.holds(value_of(configuration.get(), rule.property))) refuse(property, rule.reason);
  }
}

}  // namespace

bool is_secret(std::string_view property) noexcept {
  // A switch is none, whatever it is about (enable.sasl.oauthbearer.unsecure.jwt).
  if (property.starts_with("enable.")) return false;
  return std::find(kSecrets.begin(), kSecrets.end(), property) != kSecrets.end() ||
         std::any_of(kSecretEndings.begin(), kSecretEndings.end(),
                     [property](std::string_view ending) { return property.ends_with(ending); });
}

void set_property(rd_kafka_conf_t* configuration, const std::string& property, const std::string& value) {
  std::array<char, 512> reason{};
  switch (rd_kafka_conf_set(configuration, property.c_str(), value.c_str(), reason.data(), reason.size())) {
    case RD_KAFKA_CONF_OK: return;
    case RD_KAFKA_CONF_UNKNOWN: {
      const std::string nearest = base::nearest_word(property, property_names());
      refuse(property, "librdkafka " + library_version() + " knows no such property" +
                           (nearest.empty() ? std::string() : "; did you mean " + nearest + "?"));
    }
    case RD_KAFKA_CONF_INVALID: {
      // librdkafka's reason repeats the value.
      if (is_secret(property)) refuse(property, "librdkafka refuses the value");
      const std::string text = reason.data();
      const bool by_another_name = text.find(property) == std::string::npos;
      refuse(property, by_another_name ? text + " (librdkafka's other name of " + property + ")" : text);
    }
  }
  refuse(property, "librdkafka refuses it");
}

std::string value_of(const rd_kafka_conf_t* configuration, const char* property) {
  std::size_t size = 0;
  if (rd_kafka_conf_get(configuration, property, nullptr, &size) != RD_KAFKA_CONF_OK) return {};
  std::string value(size, '\0');
  rd_kafka_conf_get(configuration, property, value.data(), &size);
  value.resize(std::min(value.find('\0'), value.size()));
  return value;
}

void set_properties(rd_kafka_conf_t* configuration, std::span<const Setting> settings) {
  for (const Setting& setting : settings) set_property(configuration, setting.property, setting.value);
}

void check_properties(const Properties& properties, const Promises& promises) {
  for (const auto& [property, value] : properties) check_property(property, value, promises);
}

bool names(const Properties& properties, std::string_view name) {
  return std::any_of(properties.begin(), properties.end(), [name](const auto& entry) { return entry.first == name; });
}

void check_brokers(const Properties& properties) {
  if (names(properties, "bootstrap.servers") || names(properties, "metadata.broker.list")) return;
  throw Error(ErrorCode::configuration, "kafka property bootstrap.servers is missing: name at least one broker");
}

}  // namespace txbox::kafka
