#pragma once

#include <string>

namespace CLI {
class App;
}

namespace txbox::relay {

enum class Shell { bash, zsh, fish };

/// The shell's script for completing this program: its commands, their options, and the values of options that take
/// one of a few words, all from the tree of commands itself.
[[nodiscard]] std::string completion_script(const CLI::App& app, Shell shell);

}  // namespace txbox::relay
