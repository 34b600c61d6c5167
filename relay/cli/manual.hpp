#pragma once

#include <string>

namespace CLI {
class App;
}

namespace txbox::relay {

/// The manual's pages in the language of scdoc(5): outbox-relay(1) from the tree of commands, and outbox-relay.toml(5)
/// from the table of options, so that neither can fall behind the program.
[[nodiscard]] std::string manual_of_commands(const CLI::App& app);
[[nodiscard]] std::string manual_of_configuration();

}  // namespace txbox::relay
