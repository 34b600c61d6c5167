#include "relay/config/kafka_settings.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include <sys/stat.h>

#include <txbox/base/error.hpp>
#include <txbox/base/nearest_word.hpp>

namespace txbox::relay {

namespace {

constexpr std::string_view kFileSuffix = "_file";
// A password or a key in PEM; what is larger is some other file.
constexpr std::size_t kSecretBytesMax = 64 << 10;

[[noreturn]] void refuse(const Source& source, const std::string& text) {
  throw Error(ErrorCode::configuration, source.where + ": " + text);
}

/// The path is not repeated: somebody may have written the secret itself there.
std::string read_secret(const Setting& setting, const std::string& property) {
  errno = 0;
  std::ifstream file(setting.values.front(), std::ios::binary);
  std::string secret(kSecretBytesMax + 1, '\0');
  if (file) file.read(secret.data(), static_cast<std::streamsize>(secret.size()));
  if (!file.is_open() || file.bad())
    refuse(setting.source, property + ": the file that it names cannot be read: " + std::strerror(errno));
  secret.resize(static_cast<std::size_t>(file.gcount()));
  if (secret.size() > kSecretBytesMax)
    refuse(setting.source, property + ": the file that it names is no secret (larger than 64 KiB)");
  // Editors and `echo` end a file with a line end that is not part of the secret.
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  if (secret.empty()) refuse(setting.source, property + ": the file that it names is empty");
  return secret;
}

void warn_of_mode(const Setting& setting, const std::string& property, std::vector<std::string>& warnings) {
  struct stat status {};
  if (stat(setting.values.front().c_str(), &status) != 0 || (status.st_mode & (S_IROTH | S_IWOTH)) == 0) return;
  warnings.push_back(setting.source.where + ": " + property +
                     ": everybody on this machine may read or change the file " + setting.values.front() +
                     "; chmod 600 closes it");
}

void check(const Setting& setting, const std::string& property, const std::string& value) {
  try {
    kafka::check_producer_properties({{property, value}});
  } catch (const Error& error) {
    refuse(setting.source, error.what());
  }
}

void add(KafkaSettings& result, const Setting& setting) {
  const std::string property = setting.name.substr(kKafkaSection.size());
  if (kafka::is_secret(property)) {
    refuse(setting.source, property +
                               " is a secret, and others may read it here; put it into a file of its own and name " +
                               "that with " + property + std::string(kFileSuffix));
  }
  const std::string secret = secret_of(property);
  if (secret.empty() && property.ends_with(kFileSuffix)) {
    refuse(setting.source, "kafka property " + property + ": there is no such property" +
                               did_you_mean(base::nearest_word(property, secret_file_names())));
  }
  std::string value = setting.values.front();
  if (!secret.empty()) {
    value = read_secret(setting, property);
    warn_of_mode(setting, property, result.warnings);
  }
  const std::string& name = secret.empty() ? property : secret;
  check(setting, name, value);
  result.properties.emplace_back(name, std::move(value));
}

}  // namespace

KafkaSettings kafka_settings(std::span<const Setting> settings) {
  KafkaSettings result;
  for (const Setting& setting : settings) {
    if (setting.name.starts_with(kKafkaSection)) add(result, setting);
  }
  return result;
}

std::vector<std::string> secret_file_names() {
  std::vector<std::string> names;
  for (const std::string& name : kafka::property_names()) {
    if (kafka::is_secret(name)) names.push_back(name + std::string(kFileSuffix));
  }
  return names;
}

std::string secret_of(std::string_view property) {
  if (!property.ends_with(kFileSuffix)) return {};
  const std::string secret(property.substr(0, property.size() - kFileSuffix.size()));
  return kafka::is_secret(secret) ? secret : std::string();
}

Setting property_of_flag(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) throw Error(ErrorCode::configuration, "-X: give NAME=VALUE");
  return {std::string(kKafkaSection) + text.substr(0, equals), {text.substr(equals + 1)}, {Layer::flag, "-X"}};
}

}  // namespace txbox::relay
