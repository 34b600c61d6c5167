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
#include "relay/cli/usage.hpp"
#include "relay/cli/version.hpp"

namespace txbox::relay {

namespace {

constexpr char kDescription[] = R"(Publishes events that applications commit to SQLite files to Kafka.

Examples:
  outbox-relay demo
  outbox-relay init --db shop.db
  outbox-relay run --db shop.db --brokers localhost:9092
  outbox-relay run --db shop.db --brokers localhost:9092 --drain
  outbox-relay status --db shop.db
  outbox-relay ls --db shop.db --state parked
  outbox-relay retry --db shop.db --topic orders
  outbox-relay config init > relay.toml
  outbox-relay inbox status --db billing.db
  outbox-relay doctor --db shop.db --brokers localhost:9092

Exit codes: 0 ok, 1 failure, 2 usage, 3 a check did not hold, 20 file moved or deleted, 21 corrupt or not a database,
22 restored from an older copy, 23 schema newer than this program, 24 another relay holds the file, 75 try later,
78 bad configuration.)";

int usage_error(const std::string& text, const std::string& hint) {
  std::fprintf(stderr, "outbox-relay: %s\n%s\n", text.c_str(), hint.c_str());
  return static_cast<int>(ExitCode::usage);
}

int run_command_line(int argc, char** argv) {
  CLI::App app(kDescription, "outbox-relay");
  Action chosen;
  app.set_version_flag("--version", version_text);
  app.require_subcommand(1);
  add_demo_command(app, chosen);
  add_init_command(app, chosen);
  add_run_command(app, chosen);
  add_status_command(app, chosen);
  add_ls_command(app, chosen);
  add_show_command(app, chosen);
  add_park_command(app, chosen);
  add_retry_command(app, chosen);
  add_skip_command(app, chosen);
  add_prune_command(app, chosen);
  add_adopt_command(app, chosen);
  add_config_command(app, chosen);
  add_inbox_command(app, chosen);
  add_doctor_command(app, chosen);
  add_completion_command(app, chosen);
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
