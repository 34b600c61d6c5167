#include "relay/config/configuration.hpp"

#include <algorithm>
#include <map>

#include <txbox/base/check.hpp>
#include <txbox/base/error.hpp>

#include "relay/config/duration.hpp"
#include "relay/config/environment.hpp"
#include "relay/config/kafka_settings.hpp"
#include "relay/config/option.hpp"
#include "relay/config/size.hpp"
#include "relay/config/toml_file.hpp"
#include "relay/config/truth.hpp"

namespace txbox::relay {

namespace {

constexpr std::string_view kConfigOption = "config";

Settings standard_settings() {
  Settings settings;
  for (const auto& [property, value] : kafka::producer_settings())
    settings.push_back({std::string(kKafkaSection) + property, {value}, {Layer::standard, "default"}});
  for (const Option& option : options()) {
    if (option.name.starts_with(kKafkaSection)) continue;
    std::vector<std::string> values;
    if (!option.standard.empty()) values.emplace_back(option.standard);
    settings.push_back({std::string(option.name), std::move(values), {Layer::standard, "default"}});
  }
  return settings;
}

std::string file_of(const Settings& environment, const Settings& flags) {
  std::string file;
  for (const Settings* layer : {&environment, &flags}) {
    for (const Setting& setting : *layer) {
      if (setting.name == kConfigOption) file = setting.values.front();
    }
  }
  return file;
}

void append(Settings& all, const Settings& more) { all.insert(all.end(), more.begin(), more.end()); }

/// The same for every way to write a name: librdkafka has aliases, and a secret is set by its file.
std::string identity(const std::string& name) {
  if (!name.starts_with(kKafkaSection)) return name;
  const std::string property = name.substr(kKafkaSection.size());
  const std::string secret = secret_of(property);
  return std::string(kKafkaSection) + kafka::first_name(secret.empty() ? property : secret);
}

}  // namespace

Configuration::Configuration(const Settings& flags, const std::vector<std::string>& environment) {
  const Settings variables = from_environment(environment);
  file_ = file_of(variables, flags);
  settings_ = standard_settings();
  const auto given = static_cast<std::ptrdiff_t>(settings_.size());
  if (!file_.empty()) append(settings_, read_toml_file(file_));
  append(settings_, variables);
  append(settings_, flags);
  KafkaSettings resolved = kafka_settings({settings_.begin() + given, settings_.end()});
  kafka_ = std::move(resolved.properties);
  warnings_ = std::move(resolved.warnings);
}

const Setting& Configuration::winner(std::string_view option) const {
  const auto found = std::find_if(settings_.rbegin(), settings_.rend(),
                                  [option](const Setting& setting) { return setting.name == option; });
  TXBOX_CHECK(found != settings_.rend());
  return *found;
}

const std::string& Configuration::text(std::string_view option) const {
  static const std::string none;
  const Setting& setting = winner(option);
  return setting.values.empty() ? none : setting.values.front();
}

bool Configuration::truth(std::string_view option) const {
  const auto value = parse_truth(text(option));
  TXBOX_CHECK(value.has_value());
  return *value;
}

std::optional<std::chrono::milliseconds> Configuration::duration(std::string_view option) const {
  return parse_duration(text(option));
}

std::int64_t Configuration::size(std::string_view option) const {
  const auto bytes = parse_size(text(option));
  TXBOX_CHECK(bytes.has_value());
  return *bytes;
}

const std::vector<std::string>& Configuration::list(std::string_view option) const { return winner(option).values; }

std::vector<EffectiveSetting> Configuration::effective() const {
  std::map<std::string, std::vector<const Setting*>> by_identity;
  for (const Setting& setting : settings_) by_identity[identity(setting.name)].push_back(&setting);
  const auto told = [](const std::vector<const Setting*>& given) {
    const Setting& last = *given.back();
    EffectiveSetting effective{last.name, last.values, false, last.source, {}};
    if (last.name.starts_with(kKafkaSection)) {
      const std::string secret = secret_of(last.name.substr(kKafkaSection.size()));
      effective.secret = !secret.empty();
      if (effective.secret) {
        effective.name = std::string(kKafkaSection) + secret;
        effective.source.where += ", from the file " + last.values.front();
        effective.values.clear();
      }
    }
    for (auto weaker = given.rbegin() + 1; weaker != given.rend(); ++weaker) {
      if ((*weaker)->source.layer != Layer::standard) effective.overridden.push_back((*weaker)->source.where);
    }
    return effective;
  };
  std::vector<EffectiveSetting> all;
  for (const Option& option : options()) {
    if (option.name.starts_with(kKafkaSection)) continue;
    all.push_back(told(by_identity.at(std::string(option.name))));
  }
  const auto properties = static_cast<std::ptrdiff_t>(all.size());
  for (const auto& [name, given] : by_identity) {
    if (name.starts_with(kKafkaSection)) all.push_back(told(given));
  }
  // By the names that were given, which may be aliases.
  std::sort(all.begin() + properties, all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

void require_runnable(const Configuration& configuration) {
  const auto refuse = [](const std::string& text) { throw Error(ErrorCode::configuration, text); };
  if (configuration.list("db").empty()) {
    refuse("no database is named: give --db FILE, OUTBOX_RELAY_DB or db = [\"FILE\"] in the configuration file");
  }
  const bool reachable =
      std::any_of(configuration.kafka().begin(), configuration.kafka().end(), [](const auto& property) {
        return kafka::first_name(property.first) == kafka::first_name("bootstrap.servers") && !property.second.empty();
      });
  if (!reachable) {
    refuse("no Kafka is named: give --brokers HOST:PORT[,HOST:PORT...], OUTBOX_RELAY_BROKERS or bootstrap.servers in " +
           std::string("[kafka] of the configuration file"));
  }
  if (!configuration.text("timeout").empty() && !configuration.truth("drain")) refuse("--timeout is for --drain");
  const auto listen = listen_address_of(configuration);
  if (listen && !listen->is_local() && !configuration.truth("http.allow_any_address")) {
    refuse("http.listen: " + listen->text() +
           " can be reached by other machines, and the pages have neither TLS nor a " +
           "password: give an address of 127.0.0.0/8, [::1] or unix:/PATH, or allow it with --http-any-address " +
           "(http.allow_any_address = true)");
  }
}

std::optional<ListenAddress> listen_address_of(const Configuration& configuration) {
  return parse_listen_address(configuration.text("http.listen"));
}

std::vector<std::string> changes_for_next_start(const Configuration& before, const Configuration& after) {
  std::vector<std::string> names;
  for (const Option& option : options()) {
    if (option.while_running || option.name.starts_with(kKafkaSection)) continue;
    if (before.list(option.name) != after.list(option.name)) names.emplace_back(option.name);
  }
  return names;
}

}  // namespace txbox::relay
