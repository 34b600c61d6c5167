#include "relay/cli/option_flags.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "relay/config/kafka_settings.hpp"
#include "relay/config/option.hpp"

namespace txbox::relay {

struct OptionFlags::Flag {
  const Option* option = nullptr;
  CLI::Option* given = nullptr;
  std::vector<std::string> values;  ///< Of a list.
  std::string value;
  bool truth = false;
};

namespace {

std::string type_name(const Option& option) {
  switch (option.type) {
    case OptionType::word: return std::string(option.words);
    case OptionType::duration:
    case OptionType::keep: return "DURATION";
    case OptionType::size: return "SIZE";
    default: return "TEXT";
  }
}

std::string help_of(const Option& option) {
  std::string text(option.help);
  text += " (" + std::string(option.variable);
  // What nobody can put into a file is not looked for there.
  if (option.in_file) text += ", " + std::string(option.name);
  return text + ")";
}

}  // namespace

OptionFlags::OptionFlags(CLI::App& command) { add(command, nullptr); }

OptionFlags::OptionFlags(CLI::App& command, const Names& names) { add(command, &names); }

void OptionFlags::add(CLI::App& command, const Names* names) {
  for (const Option& option : options()) {
    if (option.flag.empty()) continue;
    if (names != nullptr && std::find(names->begin(), names->end(), option.name) == names->end()) continue;
    auto flag = std::make_unique<Flag>();
    flag->option = &option;
    const std::string name(option.flag);
    if (option.type == OptionType::truth) {
      flag->given = command.add_flag(name, flag->truth, help_of(option));
    } else {
      flag->given = option.type == OptionType::list ? command.add_option(name, flag->values, help_of(option))
                                                    : command.add_option(name, flag->value, help_of(option));
      flag->given->allow_extra_args(false)->type_name(type_name(option))->default_str(std::string(option.standard));
      flag->given->check(
          CLI::Validator([&option](const std::string& text) { return value_objection(option, text); }, std::string()));
    }
    flags_.push_back(std::move(flag));
  }
  command
      .add_option("-X", properties_, "A librdkafka property NAME=VALUE; may be repeated; also OUTBOX_RELAY_KAFKA_NAME")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
}

OptionFlags::~OptionFlags() = default;

Settings OptionFlags::settings() const {
  Settings settings;
  for (const std::string& property : properties_) settings.push_back(property_of_flag(property));
  for (const auto& flag : flags_) {
    if (flag->given->count() == 0) continue;
    Setting setting{std::string(flag->option->name), {}, {Layer::flag, std::string(flag->option->flag)}};
    switch (flag->option->type) {
      case OptionType::truth: setting.values = {flag->truth ? "true" : "false"}; break;
      case OptionType::list: setting.values = flag->values; break;
      default: setting.values = {flag->value};
    }
    settings.push_back(std::move(setting));
  }
  return settings;
}

}  // namespace txbox::relay
