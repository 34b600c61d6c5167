#pragma once

#include <functional>

#include "relay/engine/exit_code.hpp"

namespace CLI {
class App;
}

namespace txbox::relay {

/// What the command line chose, run once parsing is over.
using Action = std::function<ExitCode()>;

/// Each adds one subcommand with its flags and sets `chosen` when a person uses it. `chosen` outlives the parse.
void add_adopt_command(CLI::App& app, Action& chosen);
/// `config`, and the commands below it.
void add_config_command(CLI::App& app, Action& chosen);
/// `completion`: scripts for shells, made from the commands that `app` has when it runs; so `app` lives until then.
void add_completion_command(CLI::App& app, Action& chosen);
void add_demo_command(CLI::App& app, Action& chosen);
void add_doctor_command(CLI::App& app, Action& chosen);
/// `inbox`, and the commands below it.
void add_inbox_command(CLI::App& app, Action& chosen);
void add_inbox_ls_command(CLI::App& inbox, Action& chosen);
void add_inbox_status_command(CLI::App& inbox, Action& chosen);
void add_init_command(CLI::App& app, Action& chosen);
void add_park_command(CLI::App& app, Action& chosen);
void add_prune_command(CLI::App& app, Action& chosen);
void add_retry_command(CLI::App& app, Action& chosen);
void add_run_command(CLI::App& app, Action& chosen);
void add_status_command(CLI::App& app, Action& chosen);
void add_ls_command(CLI::App& app, Action& chosen);
void add_show_command(CLI::App& app, Action& chosen);
void add_skip_command(CLI::App& app, Action& chosen);

}  // namespace txbox::relay
