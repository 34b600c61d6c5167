#pragma once

#include <string>

namespace CLI {
class App;
}

namespace txbox::relay {

/// Shows `examples` in the command's own --help before its flags; the list of commands keeps the one-line description.
void show_examples(CLI::App& command, std::string examples);

}  // namespace txbox::relay
