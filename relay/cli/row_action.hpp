#pragma once

#include <string>

#include <txbox/store/outbox_tools.hpp>

#include "relay/cli/commands.hpp"

namespace txbox::relay {

/// What tells park, retry and skip apart on the command line; all else is one.
struct RowCommand {
  store::ToolAction action;
  const char* name;
  const char* description;
  std::string examples;
};

/// Adds the command with its flags. It takes the rows in transactions of 2,000, each row with a line of txbox_audit.
/// Exit codes: 0 done; 1 an event is unknown; 2 a choice by filter without --yes where nobody can be asked; 3 nothing
/// changed, or an event was left as it is.
void add_row_command(CLI::App& app, Action& chosen, const RowCommand& command);

}  // namespace txbox::relay
