#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include "relay/cli/commands.hpp"
#include "relay/cli/completion_script.hpp"
#include "relay/cli/help_examples.hpp"

namespace txbox::relay {

namespace {

constexpr char kExamples[] = R"(Examples:
  source <(outbox-relay completion bash)
  outbox-relay completion zsh > ~/.zsh/completions/_outbox-relay
  outbox-relay completion fish > ~/.config/fish/completions/outbox-relay.fish)";

void add_shell(CLI::App& completion, const CLI::App& app, const std::string& name, Shell shell, Action& chosen) {
  CLI::App* command = completion.add_subcommand(name, "Print the script for " + name);
  show_examples(*command, kExamples);
  command->callback([&app, shell, &chosen] {
    chosen = [&app, shell] {
      std::fputs(completion_script(app, shell).c_str(), stdout);
      return ExitCode::ok;
    };
  });
}

}  // namespace

void add_completion_command(CLI::App& app, Action& chosen) {
  CLI::App* completion = app.add_subcommand("completion", "Print a script that completes commands in a shell");
  add_shell(*completion, app, "bash", Shell::bash, chosen);
  add_shell(*completion, app, "zsh", Shell::zsh, chosen);
  add_shell(*completion, app, "fish", Shell::fish, chosen);
  completion->require_subcommand(1);
  show_examples(*completion, kExamples);
}

}  // namespace txbox::relay
