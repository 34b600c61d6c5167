#include "relay/cli/usage.hpp"

#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <txbox/base/nearest_word.hpp>

#include "relay/cli/output.hpp"

namespace txbox::relay {

namespace {

struct Walk {
  const CLI::App* command = nullptr;
  std::string line;   ///< The commands that were found, with spaces between them.
  std::string wrong;  ///< The word behind them, where a command was expected and there is none of that name.
};

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

Walk walk(const CLI::App& app, std::span<const std::string> arguments) {
  Walk walk{.command = &app, .line = {}, .wrong = {}};
  for (const std::string& word : arguments) {
    if (word.starts_with('-')) break;
    const CLI::App* next = nullptr;
    const auto commands = commands_of(*walk.command);
    for (const CLI::App* command : commands) {
      if (command->get_name() == word) next = command;
    }
    if (next == nullptr) {
      // A hidden command takes nothing away from one that has options of its own.
      if (!commands.empty() && walk.command->get_require_subcommand_min() > 0) walk.wrong = word;
      break;
    }
    walk.line += (walk.line.empty() ? "" : " ") + word;
    walk.command = next;
  }
  return walk;
}

std::string did_you_mean(const std::string& nearest) {
  return nearest.empty() ? std::string() : "; did you mean " + nearest + "?";
}

/// "--name" of --name=value, "-n" of -nvalue.
std::string option_name(const std::string& argument) {
  return argument.starts_with("--") ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace

std::string unknown_command(const CLI::App& app, std::span<const std::string> arguments) {
  const Walk found = walk(app, arguments);
  if (found.wrong.empty()) return {};
  std::vector<std::string> known;
  for (const CLI::App* command : commands_of(*found.command)) known.push_back(command->get_name());
  return "there is no command " + found.line + (found.line.empty() ? "" : " ") + printable(found.wrong) +
         did_you_mean(base::nearest_word(found.wrong, known));
}

std::string usage_text(const CLI::App& app, std::span<const std::string> arguments, const CLI::ParseError& error) {
  // An option that is missing may be there under a wrong name, so unknown ones are told of first.
  const std::vector<std::string> unexpected = app.remaining(true);
  // Long names first: what begins with one dash may be the value behind one of them.
  for (const std::string_view dashes : {"--", "-"}) {
    for (const std::string& argument : unexpected) {
      if (!argument.starts_with(dashes) || argument.size() <= dashes.size()) continue;
      const std::string name = option_name(argument);
      return "there is no option " + printable(name) +
             did_you_mean(base::nearest_word(name, options_of(*walk(app, arguments).command)));
    }
  }
  if (!unexpected.empty()) return "there is an argument that was not expected (it is not repeated, it may be a secret)";
  return error.what();
}

std::string help_hint(const CLI::App& app, std::span<const std::string> arguments) {
  const std::string line = walk(app, arguments).line;
  return "Run outbox-relay " + line + (line.empty() ? "" : " ") + "--help for more.";
}

}  // namespace txbox::relay
