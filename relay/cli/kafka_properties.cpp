#include "relay/cli/kafka_properties.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <string_view>

#include <unistd.h>

#include <txbox/base/error.hpp>
#include <txbox/base/nearest_word.hpp>

namespace txbox::relay {

namespace {

constexpr std::string_view kPrefix = "OUTBOX_RELAY_";
constexpr std::string_view kKafkaPrefix = "OUTBOX_RELAY_KAFKA_";
constexpr std::string_view kFileSuffix = "_file";
// A password or a key in PEM; what is larger is some other file.
constexpr std::streamsize kSecretBytesMax = 64 << 10;

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::configuration, text); }

std::string read_secret(const std::string& property, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(property + ": the file it names cannot be read");
  std::string secret(static_cast<std::size_t>(kSecretBytesMax) + 1, '\0');
  file.read(secret.data(), kSecretBytesMax + 1);
  secret.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || secret.size() > static_cast<std::size_t>(kSecretBytesMax))
    refuse(property + ": the file it names is no secret (too large)");
  // Editors and `echo` end a file with a line end that is not part of the secret.
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  return secret;
}

void add(kafka::Properties& properties, const std::string& name, const std::string& value, const std::string& where) {
  if (kafka::is_secret(name)) {
    refuse(where + ": " + name + " is a secret and may be read by others there; put it into a file and give " + name +
           std::string(kFileSuffix));
  }
  if (name.ends_with(kFileSuffix)) {
    const std::string secret_name = name.substr(0, name.size() - kFileSuffix.size());
    if (kafka::is_secret(secret_name)) {
      properties.emplace_back(secret_name, read_secret(name, value));
      return;
    }
  }
  properties.emplace_back(name, value);
}

/// LINGER_MS -> linger.ms; a trailing _FILE stays one word (SASL_PASSWORD_FILE -> sasl.password_file).
std::string property_of_variable(std::string_view variable) {
  std::string name(variable.substr(kKafkaPrefix.size()));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return letter == '_' ? '.' : static_cast<char>(std::tolower(letter)); });
  if (name.ends_with(".file") && kafka::is_secret(name.substr(0, name.size() - kFileSuffix.size())))
    name[name.size() - kFileSuffix.size()] = '_';
  return name;
}

std::string variable_name(const std::string& entry) { return entry.substr(0, entry.find('=')); }

}  // namespace

kafka::Properties gather_properties(const std::vector<std::string>& environment, const std::vector<std::string>& flags,
                                    const std::string& brokers) {
  kafka::Properties properties;
  for (const std::string& entry : environment) {
    if (!entry.starts_with(kKafkaPrefix)) continue;
    const std::string variable = variable_name(entry);
    add(properties, property_of_variable(variable), entry.substr(std::min(entry.size(), variable.size() + 1)),
        variable);
  }
  for (const std::string& flag : flags) {
    const auto equals = flag.find('=');
    // The text itself may be a secret that was typed wrongly, so it is not repeated.
    if (equals == std::string::npos || equals == 0) refuse("-X: give NAME=VALUE");
    add(properties, flag.substr(0, equals), flag.substr(equals + 1), "-X");
  }
  if (!brokers.empty()) properties.emplace_back("bootstrap.servers", brokers);
  const bool reachable = std::any_of(properties.begin(), properties.end(), [](const auto& property) {
    return (property.first == "bootstrap.servers" || property.first == "metadata.broker.list") &&
           !property.second.empty();
  });
  if (!reachable) refuse("no Kafka is named: give --brokers HOST:PORT[,HOST:PORT...]");
  return properties;
}

void check_environment(const std::vector<std::string>& environment, const std::vector<std::string>& known) {
  for (const std::string& entry : environment) {
    if (!entry.starts_with(kPrefix) || entry.starts_with(kKafkaPrefix)) continue;
    const std::string variable = variable_name(entry);
    if (std::find(known.begin(), known.end(), variable) != known.end()) continue;
    const std::string nearest = base::nearest_word(variable, known);
    refuse("the environment sets " + variable + ", which is no option" +
           (nearest.empty() ? std::string() : "; did you mean " + nearest + "?"));
  }
}

std::vector<std::string> process_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

}  // namespace txbox::relay
