#pragma once

#include <string>

#include "relay/cli/commands.hpp"

namespace txbox::relay {

/// The program whole, as the command line, its completions and its manual know it.
[[nodiscard]] std::string program_description();
void add_commands(CLI::App& app, Action& chosen);

}  // namespace txbox::relay
