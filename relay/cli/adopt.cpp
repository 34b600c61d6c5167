#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include <txbox/store/connection.hpp>
#include <txbox/store/file_guard.hpp>
#include <txbox/store/outbox_tools.hpp>
#include <txbox/store/schema.hpp>

#include "relay/cli/commands.hpp"
#include "relay/cli/help_examples.hpp"
#include "relay/cli/user_name.hpp"

namespace txbox::relay {

namespace {

constexpr char kExamples[] = R"(Examples:
  outbox-relay adopt --db shop.db

Only after a restore, or for a copy that is to live on beside its original: exit code 22 asked for it.)";

struct AdoptFlags {
  std::string db;
  std::string reason;
};

ExitCode adopt(const AdoptFlags& flags) {
  store::check_file(flags.db);
  // Held to the end: no relay may read while the notes change under it.
  const store::RelayLock lock = store::RelayLock::acquire(flags.db);
  auto connection = store::Connection::open(flags.db, {});
  store::verify_outbox_schema(connection.handle());
  const store::AdoptResult result = store::adopt_store(connection, {user_name(), flags.reason});
  connection.leave_whole();
  std::printf("%s: adopted as incarnation %lld; everything is settled through row %lld\n", flags.db.c_str(),
              static_cast<long long>(result.incarnation), static_cast<long long>(result.settled_through));
  if (result.foreign_receipts > 0 || result.foreign_held > 0) {
    std::printf("%s: %lld receipts and %lld held rows belonged to other rows and were taken away\n", flags.db.c_str(),
                static_cast<long long>(result.foreign_receipts), static_cast<long long>(result.foreign_held));
  }
  return ExitCode::ok;
}

}  // namespace

void add_adopt_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<AdoptFlags>();
  CLI::App* command = app.add_subcommand("adopt", "Publish from a restored or copied file from now on (after exit 22)");
  show_examples(*command, kExamples);
  command->add_option("--db", flags->db, "The database file")->required()->envname("OUTBOX_RELAY_DB");
  command->add_option("--reason", flags->reason, "Why, for the audit");
  command->callback([flags, &chosen] { chosen = [flags] { return adopt(*flags); }; });
}

}  // namespace txbox::relay
