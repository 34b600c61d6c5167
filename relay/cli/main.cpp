#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <txbox/base/error.hpp>

#include "relay/cli/commands.hpp"
#include "relay/cli/output.hpp"
#include "relay/cli/process.hpp"
#include "relay/cli/program.hpp"
#include "relay/cli/usage.hpp"

namespace txbox::relay {

namespace {

int usage_error(const std::string& text, const std::string& hint) {
  std::fprintf(stderr, "outbox-relay: %s\n%s\n", text.c_str(), hint.c_str());
  return static_cast<int>(ExitCode::usage);
}

int run_command_line(int argc, char** argv) {
  CLI::App app(program_description(), "outbox-relay");
  Action chosen;
  add_commands(app, chosen);
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const std::string hint = help_hint(app, arguments);
  if (const std::string text = unknown_command(app, arguments); !text.empty()) return usage_error(text, hint);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return usage_error(usage_text(app, arguments, error), hint);
  }
  return static_cast<int>(chosen());
}

}  // namespace

}  // namespace txbox::relay

int main(int argc, char** argv) {
  using namespace txbox;
  try {
    relay::reserve_standard_descriptors();
    const int code = relay::run_command_line(argc, argv);
    if (relay::output_arrived() || code != 0) return code;
    throw Error(ErrorCode::failure, "standard output cannot be written; what was printed is not whole");
  } catch (const Error& error) {
    std::fprintf(stderr, "outbox-relay: %s\n", error.what());
    return static_cast<int>(relay::exit_code_for(error.code()));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "outbox-relay: %s\n", error.what());
    return static_cast<int>(relay::ExitCode::failure);
  }
}
