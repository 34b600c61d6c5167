#include <txbox/kafka/settings.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>

#include <txbox/base/error.hpp>
#include <txbox/base/nearest_word.hpp>

#include "handles.hpp"
#include "producer_configuration.hpp"
#include "property_names.hpp"

namespace txbox::kafka {
namespace {

/// A value that a promise of the relay rests on. `holds` sees librdkafka's own spelling of the value, after
/// aliases and other ways to write it ("all" and "-1", "t" and "true") were resolved.
struct Rule {
  const char* property;
  bool (*holds)(std::string_view value);
  std::string_view reason;
};

bool is_true(std::string_view value) { return value == "true"; }
bool is_false(std::string_view value) { return value == "false"; }
bool is_zero(std::string_view value) { return value == "0"; }
bool is_empty(std::string_view value) { return value.empty(); }

constexpr std::array kRules{
    Rule{"enable.idempotence", is_true, "without idempotence a retry reorders and repeats records; it must be true"},
    Rule{"enable.gapless.guarantee", is_true, "without it later records of a key pass a refused one; it must be true"},
    Rule{"request.required.acks", [](std::string_view value) { return value == "-1"; },
         "a record counts as sent only when all in-sync replicas have it; it must be all"},
    Rule{"message.timeout.ms", is_zero,
         "a finite timeout drops records during an outage and leaves holes in a key's order; it must be 0"},
    Rule{"message.send.max.retries", [](std::string_view value) { return value == "2147483647"; },
         "a limit of retries drops records during an outage and leaves holes in a key's order; leave it out"},
    Rule{"max.in.flight.requests.per.connection",
         [](std::string_view value) { return std::atoi(std::string(value).c_str()) <= 5; },
         "Kafka keeps the order of an idempotent producer only for up to 5 requests in flight"},
    Rule{"queuing.strategy", [](std::string_view value) { return value == "fifo"; },
         "anything but fifo breaks the order of a key"},
    Rule{"partitioner", [](std::string_view value) { return value == "murmur2_random"; },
         "the partition of a key is computed as Java's client does (murmur2_random); another one would split keys"},
    Rule{"transactional.id", is_empty,
         "the relay does not publish in Kafka transactions; records would never become visible"},
    Rule{"allow.auto.create.topics", is_false,
         "the relay never creates topics: a deleted one would silently come back with other settings"},
    Rule{"delivery.report.only.error", is_false,
         "a record is marked as sent by its report; without reports nothing would ever be marked"},
    Rule{"topic.blacklist", is_empty, "rows of a topic that the client is not to see would wait for ever"},
    Rule{"api.version.request", is_true,
         "without it librdkafka falls back to old message formats that cannot carry headers"},
};

/// Properties that belong to the program itself, whatever their value.
struct Owned {
  std::string_view property;
  std::string_view reason;
};

constexpr std::array kOwned{
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

void check_owned(std::string_view property) {
  for (const Owned& owned : kOwned) {
    if (property == owned.property) refuse(property, std::string(owned.reason) + "; leave it out");
  }
  for (std::string_view prefix : kTestPrefixes) {
    if (property.starts_with(prefix)) refuse(property, "a test hook of librdkafka that loses records; leave it out");
  }
}

std::string value_of(const rd_kafka_conf_t* configuration, const char* property) {
  std::size_t size = 0;
  if (rd_kafka_conf_get(configuration, property, nullptr, &size) != RD_KAFKA_CONF_OK) return {};
  std::string value(size, '\0');
  rd_kafka_conf_get(configuration, property, value.data(), &size);
  value.resize(std::min(value.find('\0'), value.size()));
  return value;
}

void check_property(const std::string& property, const std::string& value) {
  check_owned(property);
  // Each property is judged alone on a configuration that keeps every promise, so that the text names the culprit.
  const ConfigurationHandle configuration(rd_kafka_conf_new());
  set_guaranteed_properties(configuration.get());
  set_property(configuration.get(), property, value);
  for (const Rule& rule : kRules) {
    if (!rule.holds(value_of(configuration.get(), rule.property))) refuse(property, rule.reason);
  }
}

}  // namespace

void check_producer_properties(const Properties& properties) {
  for (const auto& [property, value] : properties) check_property(property, value);
}

bool is_secret(std::string_view property) noexcept {
  return std::find(kSecrets.begin(), kSecrets.end(), property) != kSecrets.end() ||
         std::any_of(kSecretEndings.begin(), kSecretEndings.end(),
                     [property](std::string_view ending) { return property.ends_with(ending); });
}

std::string library_version() { return rd_kafka_version_str(); }

void set_property(rd_kafka_conf_t* configuration, const std::string& property, const std::string& value) {
  std::array<char, 512> reason{};
  switch (rd_kafka_conf_set(configuration, property.c_str(), value.c_str(), reason.data(), reason.size())) {
    case RD_KAFKA_CONF_OK: return;
    case RD_KAFKA_CONF_UNKNOWN: {
      const std::string nearest = base::nearest_word(property, property_names());
      refuse(property, "librdkafka " + library_version() + " knows no such property" +
                           (nearest.empty() ? std::string() : "; did you mean " + nearest + "?"));
    }
    case RD_KAFKA_CONF_INVALID:
      // librdkafka's reason repeats the value.
      refuse(property, is_secret(property) ? "librdkafka refuses the value" : reason.data());
  }
  refuse(property, "librdkafka refuses it");
}

}  // namespace txbox::kafka
