#include "relay/cli/completion_script.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace txbox::relay {

namespace {

/// One option of one command, as a shell needs to know it.
struct Completed {
  std::vector<std::string> names;   ///< With their dashes.
  std::vector<std::string> values;  ///< Where it takes one of a few words.
  std::string help;
  bool takes_value = false;
  bool takes_file = false;
};

struct Command {
  std::string path;  ///< "inbox ls"; empty for the program itself.
  std::string help;
  std::vector<std::string> commands;  ///< Below it.
  std::vector<Completed> options;
};

/// The words of a type such as "text|json".
std::vector<std::string> words_of(const std::string& type) {
  std::vector<std::string> words;
  if (type.find('|') == std::string::npos) return words;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = type.find('|', begin);
    words.push_back(type.substr(begin, end - begin));
  }
  return words;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Completed completed(const CLI::Option& option) {
  Completed result;
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  result.help = first_line(option.get_description());
  result.takes_value = option.get_items_expected_max() > 0 && option.get_type_size_max() > 0;
  if (result.takes_value) result.values = words_of(option.get_type_name());
  result.takes_file = option.check_lname("db") || option.check_lname("config");
  return result;
}

/// Depth first, in the order in which they were added. A command without a name or that is hidden stays out.
void collect(const CLI::App& app, const std::string& path, std::vector<Command>& out) {
  Command command{.path = path, .help = first_line(app.get_description()), .commands = {}, .options = {}};
  for (const CLI::Option* option : app.get_options()) {
    Completed found = completed(*option);
    if (!found.names.empty()) command.options.push_back(std::move(found));
  }
  std::vector<const CLI::App*> below;
  for (const CLI::App* next : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (next->get_name().empty() || next->get_group().empty()) continue;
    below.push_back(next);
    command.commands.push_back(next->get_name());
  }
  out.push_back(std::move(command));
  for (const CLI::App* next : below) collect(*next, path + (path.empty() ? "" : " ") + next->get_name(), out);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string names_of(const Command& command) {
  std::string text;
  for (const Completed& option : command.options) text += (text.empty() ? "" : " ") + joined(option.names);
  return text;
}

/// "run --db"|"run --config": patterns of `case "$command $previous"` for the options that `chosen` picks.
template <class Chosen>
std::string patterns(const std::vector<Command>& commands, Chosen chosen) {
  std::string text;
  for (const Command& command : commands) {
    for (const Completed& option : command.options) {
      if (!chosen(option)) continue;
      for (const std::string& name : option.names)
        text += (text.empty() ? "\"" : " | \"") + command.path + " " + name + "\"";
    }
  }
  return text;
}

std::string paths_pattern(const std::vector<Command>& commands) {
  std::string text;
  for (const Command& command : commands) {
    if (!command.path.empty()) text += (text.empty() ? "\"" : " | \"") + command.path + "\"";
  }
  return text;
}

/// `take` begins the line that offers words, `files` is the one that offers files; both shells have the same `case`.
std::string cases(const std::vector<Command>& commands, const std::string& take, const std::string& files) {
  std::string text = "  case \"$command $previous\" in\n";
  for (const Command& command : commands) {
    for (const Completed& option : command.options) {
      if (option.values.empty()) continue;
      for (const std::string& name : option.names)
        text.append("    \"")
            .append(command.path)
            .append(" ")
            .append(name)
            .append("\") words=\"")
            .append(joined(option.values))
            .append("\"; ")
            .append(take)
            .append("; return ;;\n");
    }
  }
  text += "    " + patterns(commands, [](const Completed& o) { return o.takes_file; }) + ") " + files + "; return ;;\n";
  text += "    " + patterns(commands, [](const Completed& o) { return o.takes_value && !o.takes_file; }) +
          ") return ;;\n  esac\n  case \"$command\" in\n";
  for (const Command& command : commands) {
    const std::string below = joined(command.commands);
    text +=
        "    \"" + command.path + "\") words=\"" + below + (below.empty() ? "" : " ") + names_of(command) + "\" ;;\n";
  }
  return text + "  esac\n  " + take + "\n";
}

std::string bash_script(const std::vector<Command>& commands) {
  return R"(# Completion of outbox-relay for bash, made by `outbox-relay completion bash`.
_outbox_relay() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command="" words="" index
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; ++index)); do
    case "${command:+$command }${COMP_WORDS[index]}" in
      )" +
         paths_pattern(commands) + R"() command=${command:+$command }${COMP_WORDS[index]} ;;
    esac
  done
)" +
         cases(commands, R"(mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"))",
               R"(compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current"))") +
         "}\ncomplete -F _outbox_relay outbox-relay\n";
}

std::string zsh_script(const std::vector<Command>& commands) {
  return R"(#compdef outbox-relay
# Completion of outbox-relay for zsh, made by `outbox-relay completion zsh`.
_outbox_relay() {
  local words_before=("${(@)words}") previous=${words[CURRENT - 1]} command="" index
  for ((index = 2; index < CURRENT; ++index)); do
    case "${command:+$command }${words_before[index]}" in
      )" +
         paths_pattern(commands) + R"() command=${command:+$command }${words_before[index]} ;;
    esac
  done
  local words=""
)" + cases(commands, R"(compadd -- ${=words})", "_files") +
         "}\nif [ \"$funcstack[1]\" = _outbox_relay ]; then _outbox_relay \"$@\"; else compdef _outbox_relay "
         "outbox-relay; fi\n";
}

/// In single quotes fish knows two escapes.
std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string fish_line(const Command& command, const Completed& option) {
  std::string line = "complete -c outbox-relay -n '__outbox_relay_at \"" + command.path + "\"'";
  for (const std::string& name : option.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.values.empty()) {
    line += " -x -a " + fish_quoted(joined(option.values));
  } else if (option.takes_file) {
    line += " -r -F";
  } else if (option.takes_value) {
    line += " -x";
  }
  return line + " -d " + fish_quoted(option.help) + "\n";
}

std::string fish_script(const std::vector<Command>& commands) {
  std::string text = R"(# Completion of outbox-relay for fish, made by `outbox-relay completion fish`.
function __outbox_relay_at
  set -l command
  for word in (commandline -opc)[2..-1]
    switch (string join ' ' $command $word)
      case )";
  for (const Command& command : commands) {
    if (!command.path.empty()) text += fish_quoted(command.path) + " ";
  }
  text.back() = '\n';
  text += "        set command $command $word\n    end\n  end\n  test \"$command\" = \"$argv[1]\"\nend\n";
  text += "complete -c outbox-relay -f\n";
  for (const Command& command : commands) {
    for (const std::string& below : command.commands) {
      const std::string path = command.path + (command.path.empty() ? "" : " ") + below;
      const auto found =
          std::find_if(commands.begin(), commands.end(), [&path](const Command& c) { return c.path == path; });
      text += "complete -c outbox-relay -n '__outbox_relay_at \"" + command.path + "\"' -a " + below + " -d " +
              fish_quoted(found->help) + "\n";
    }
    for (const Completed& option : command.options) text += fish_line(command, option);
  }
  return text;
}

}  // namespace

std::string completion_script(const CLI::App& app, Shell shell) {
  std::vector<Command> commands;
  collect(app, {}, commands);
  switch (shell) {
    case Shell::bash: return bash_script(commands);
    case Shell::zsh: return zsh_script(commands);
    case Shell::fish: return fish_script(commands);
  }
  return {};
}

}  // namespace txbox::relay
