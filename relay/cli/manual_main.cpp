#include <cstdio>
#include <exception>
#include <string_view>

#include <CLI/CLI.hpp>

#include "relay/cli/manual.hpp"
#include "relay/cli/program.hpp"

/// manual_source 1|5: the source of that section's page.
int main(int argc, char** argv) {
  using namespace txbox;
  try {
    CLI::App app(relay::program_description(), "outbox-relay");
    relay::Action chosen;
    relay::add_commands(app, chosen);
    const bool of_file = argc == 2 && std::string_view(argv[1]) == "5";
    const std::string text = of_file ? relay::manual_of_configuration() : relay::manual_of_commands(app);
    return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "manual_source: %s\n", error.what());
    return 1;
  }
}
