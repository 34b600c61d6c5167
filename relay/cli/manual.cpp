#include "relay/cli/manual.hpp"

#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "relay/config/option.hpp"
#include "relay/config/reference.hpp"

namespace txbox::relay {

namespace {

constexpr std::string_view kSeeAlso = R"(
# SEE ALSO

*outbox-relay*(1), *outbox-relay.toml*(5)
)";

/// As it stands: scdoc takes a backslash before whatever could mean something to it.
std::string plain(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("\\*_#[]|`~").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c == '\n' || c == '\t' ? ' ' : c;
  }
  return escaped;
}

std::string block(std::string_view text) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return "```\n" + std::string(text) + "\n```\n";
}

std::string paragraph(const std::string& head, std::string_view text) { return head + "\n\t" + plain(text) + "\n\n"; }

std::string names_of(const CLI::Option& option) {
  std::string names;
  const auto add = [&names](const std::string& name) { names += (names.empty() ? "*" : ", *") + plain(name) + "*"; };
  for (const std::string& name : option.get_snames()) add("-" + name);
  for (const std::string& name : option.get_lnames()) add("--" + name);
  if (names.empty()) return "_" + plain(option.get_name(true)) + "_";
  const bool takes_value = option.get_items_expected_max() > 0 && option.get_type_size_max() > 0;
  return takes_value ? names + " _" + plain(option.get_type_name()) + "_" : names;
}

/// Depth first; a hidden command stays out.
void add_command(const CLI::App& command, const std::string& path, std::string& out) {
  out += "## " + plain(path) + "\n\n" + plain(command.get_description()) + ".\n\n";
  // Its examples are there, before its usage.
  const auto* formatter = dynamic_cast<const CLI::Formatter*>(command.get_formatter().get());
  if (formatter != nullptr) out += block(formatter->make_usage(&command, "outbox-relay " + path)) + "\n";
  for (const CLI::Option* option : command.get_options())
    out += paragraph(names_of(*option), option->get_description());
  for (const CLI::App* next : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (!next->get_name().empty() && !next->get_group().empty()) add_command(*next, path + " " + next->get_name(), out);
  }
}

}  // namespace

std::string manual_of_commands(const CLI::App& app) {
  const std::string description = app.get_description();
  const std::string first = description.substr(0, description.find(".\n"));
  std::string out = "outbox-relay(1)\n\n# NAME\n\noutbox-relay - " + plain(first) + "\n\n# SYNOPSIS\n\n" +
                    "*outbox-relay* _command_ [_option_]...\n\n# DESCRIPTION\n\n" +
                    block(description.substr(first.size() + 1)) + "\n# COMMANDS\n\n";
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_name().empty() && !command->get_group().empty()) add_command(*command, command->get_name(), out);
  }
  return out + std::string(kSeeAlso.substr(1));
}

std::string manual_of_configuration() {
  std::string out =
      "outbox-relay.toml(5)\n\n# NAME\n\noutbox-relay.toml - configuration of outbox-relay run\n\n# DESCRIPTION\n\n"
      "A value comes from a flag, else from the environment, else from the file that *--config* names, else it is the "
      "default. An unknown key is an error that names the nearest one that is known. Every property of librdkafka may "
      "stand in \\[kafka\\] under its own name; a secret has a file of its own, which *NAME\\_file* names. SIGHUP "
      "reads "
      "the file again.\n\n# OPTIONS\n\n";
  for (const Option& option : options()) {
    const std::string name = option.in_file ? "*" + plain(option.name) + "*" : "*" + plain(option.flag) + "*";
    std::string text(option.help);
    text += ". Value: " + expected_value(option) + ".";
    if (!option.standard.empty()) text.append(" Default: ").append(option.standard).append(".");
    if (option.in_file && !option.flag.empty()) text.append(" Flag: ").append(option.flag).append(".");
    text.append(" Variable: ").append(option.variable).append(".");
    if (option.while_running) text += " A reload changes it.";
    out += paragraph(name, text);
  }
  return out + "# EXAMPLE\n\n" + block(configuration_example()) + std::string(kSeeAlso);
}

}  // namespace txbox::relay
