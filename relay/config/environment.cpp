#include "relay/config/environment.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <unistd.h>

#include <txbox/base/error.hpp>
#include <txbox/base/nearest_word.hpp>
#include <txbox/kafka/settings.hpp>

#include "relay/config/kafka_settings.hpp"
#include "relay/config/option.hpp"

namespace txbox::relay {

namespace {

constexpr std::string_view kPrefix = "OUTBOX_RELAY_";
constexpr std::string_view kKafkaPrefix = "OUTBOX_RELAY_KAFKA_";

struct Variable {
  std::string name;
  std::string value;
};

std::vector<Variable> ours(const std::vector<std::string>& environment) {
  std::vector<Variable> variables;
  for (const std::string& entry : environment) {
    if (!entry.starts_with(kPrefix)) continue;
    const std::size_t equals = std::min(entry.find('='), entry.size());
    variables.push_back({entry.substr(0, equals), entry.substr(std::min(equals + 1, entry.size()))});
  }
  // The order of an environment means nothing, so what is told and what wins must not depend on it.
  std::sort(variables.begin(), variables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return variables;
}

const Option& option_of(const std::string& variable) {
  std::vector<std::string> known;
  for (const Option& option : options()) {
    if (option.variable == variable) return option;
    if (!option.variable.empty()) known.emplace_back(option.variable);
  }
  throw Error(ErrorCode::configuration, "the environment sets " + variable + ", which is no option" +
                                            did_you_mean(base::nearest_word(variable, known)));
}

/// As a variable writes the name: sasl.password_file -> SASL_PASSWORD_FILE.
std::string shell_name(std::string_view property) {
  std::string name(property);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return c == '.' ? '_' : static_cast<char>(std::toupper(c)); });
  return name;
}

std::string with_dots(std::string_view words) {
  std::string name(words);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return c == '_' ? '.' : static_cast<char>(std::tolower(c)); });
  return name;
}

}  // namespace

std::string property_of_variable(const std::string& variable) {
  const std::string words = variable.substr(std::min(kKafkaPrefix.size(), variable.size()));
  for (const std::vector<std::string>& names : {kafka::property_names(), secret_file_names()}) {
    for (const std::string& name : names) {
      if (shell_name(name) == words) return name;
    }
  }
  return with_dots(words);
}

Settings from_environment(const std::vector<std::string>& environment) {
  Settings properties;
  Settings rest;
  for (const Variable& variable : ours(environment)) {
    const Source source{Layer::environment, variable.name};
    if (variable.name.starts_with(kKafkaPrefix)) {
      if (variable.value.empty()) continue;
      properties.push_back(
          {std::string(kKafkaSection) + property_of_variable(variable.name), {variable.value}, source});
      continue;
    }
    const Option& option = option_of(variable.name);
    if (variable.value.empty()) continue;
    if (const std::string objection = value_objection(option, variable.value); !objection.empty())
      throw Error(ErrorCode::configuration, variable.name + ": " + objection);
    rest.push_back({std::string(option.name), {variable.value}, source});
  }
  // An option of our own wins over the property that it stands for.
  properties.insert(properties.end(), rest.begin(), rest.end());
  return properties;
}

std::vector<std::string> process_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

}  // namespace txbox::relay
