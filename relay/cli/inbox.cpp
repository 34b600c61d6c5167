#include <CLI/CLI.hpp>

#include "relay/cli/commands.hpp"
#include "relay/cli/help_examples.hpp"

namespace txbox::relay {

namespace {

constexpr char kExamples[] = R"(Examples:
  outbox-relay inbox status --db billing.db
  outbox-relay inbox ls --db billing.db --group billing --parked)";

}  // namespace

void add_inbox_command(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("inbox", "The consumer's side: what groups did, and where they stand");
  command->require_subcommand(1);
  add_inbox_status_command(*command, chosen);
  add_inbox_ls_command(*command, chosen);
  // Last, since commands that are added take over the formatter of the one above.
  show_examples(*command, kExamples);
}

}  // namespace txbox::relay
