#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace txbox::relay {

/// Names the command that a typo is nearest to, or is empty where every command is known. `arguments` are those after
/// the program's name.
[[nodiscard]] std::string unknown_command(const CLI::App& app, std::span<const std::string> arguments);

/// Why the command line was not understood, in words that name the option that was meant. Arguments that nobody
/// expected are never repeated: one may be a secret.
[[nodiscard]] std::string usage_text(const CLI::App& app, std::span<const std::string> arguments,
                                     const CLI::ParseError& error);

/// "Run outbox-relay run --help for more.", with the command that `arguments` begin with.
[[nodiscard]] std::string help_hint(const CLI::App& app, std::span<const std::string> arguments);

}  // namespace txbox::relay
