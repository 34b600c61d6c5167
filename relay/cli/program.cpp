#include "relay/cli/program.hpp"

#include <CLI/CLI.hpp>

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

}  // namespace

std::string program_description() { return kDescription; }

void add_commands(CLI::App& app, Action& chosen) {
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
}

}  // namespace txbox::relay
