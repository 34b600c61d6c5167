#include "relay/cli/config_output.hpp"

#include <algorithm>
#include <vector>

#include "relay/cli/json_object.hpp"
#include "relay/cli/output.hpp"
#include "relay/config/option.hpp"

namespace txbox::relay {

namespace {

constexpr std::size_t kWidestValue = 56;

const char* layer_word(Layer layer) noexcept {
  switch (layer) {
    case Layer::standard: return "default";
    case Layer::file: return "file";
    case Layer::environment: return "environment";
    case Layer::flag: return "flag";
  }
  return "default";
}

std::string quoted(const std::string& value) {
  std::string text = "\"";
  for (const char c : printable(value)) text += c == '"' ? std::string("\\\"") : std::string(1, c);
  return text + "\"";
}

std::string value_text(const EffectiveSetting& setting) {
  if (setting.secret) return "********";
  const Option* option = find_option(setting.name);
  if (option != nullptr && option->type == OptionType::truth && !setting.values.empty()) return setting.values.front();
  if (option != nullptr && option->type == OptionType::list) {
    std::string text;
    for (const std::string& value : setting.values) text += (text.empty() ? "" : ", ") + quoted(value);
    return "[" + text + "]";
  }
  return setting.values.empty() ? "(not set)" : quoted(setting.values.front());
}

std::string line_of(const EffectiveSetting& setting, std::size_t width) {
  std::string line = padded(setting.name + " = " + value_text(setting), width);
  line += "  # " + printable(setting.source.where);
  for (std::size_t at = 0; at < setting.overridden.size(); ++at) {
    line += (at == 0 ? ", before " : ", ") + printable(setting.overridden[at]);
  }
  return line + "\n";
}

}  // namespace

std::string settings_as_text(std::span<const EffectiveSetting> settings) {
  std::size_t width = 0;
  for (const EffectiveSetting& setting : settings)
    width = std::max(width, (setting.name + " = " + value_text(setting)).size());
  std::string text;
  for (const EffectiveSetting& setting : settings) text += line_of(setting, std::min(width, kWidestValue));
  return text;
}

std::string settings_as_json(std::span<const EffectiveSetting> settings) {
  std::vector<JsonObject> objects;
  for (const EffectiveSetting& setting : settings) {
    JsonObject object;
    object.text("name", setting.name).texts("values", setting.values).truth("secret", setting.secret);
    object.text("source", layer_word(setting.source.layer)).text("where", setting.source.where);
    objects.push_back(object.texts("overrides", setting.overridden));
  }
  return JsonObject().list("options", objects).str() + "\n";
}

}  // namespace txbox::relay
