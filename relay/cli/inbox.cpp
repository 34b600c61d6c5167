#include <CLI/CLI.hpp>

#include "relay/cli/commands.hpp"

namespace txbox::relay {

void add_inbox_command(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("inbox", "The consumer's side: what groups did, and where they stand");
  command->require_subcommand(1);
  add_inbox_status_command(*command, chosen);
  add_inbox_ls_command(*command, chosen);
}

}  // namespace txbox::relay
