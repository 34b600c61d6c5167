#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include <txbox/base/error.hpp>
#include <txbox/store/connection.hpp>
#include <txbox/store/file_guard.hpp>
#include <txbox/store/schema.hpp>

#include "relay/cli/commands.hpp"
#include "relay/cli/help_examples.hpp"
#include "relay/cli/whole_number.hpp"

namespace txbox::relay {

namespace {

constexpr char kExamples[] = R"(Examples:
  outbox-relay init --db shop.db
  outbox-relay init --db shop.db --max-record-bytes 200000)";

struct InitFlags {
  std::string db;
  std::int64_t max_record_bytes = 0;
};

ExitCode init(const InitFlags& flags) {
  store::make_checked_file(flags.db);
  store::OpenOptions options;
  options.purpose = store::OpenPurpose::create;
  const auto connection = store::Connection::open(flags.db, options);
  store::InstallOptions install;
  install.max_record_bytes = flags.max_record_bytes;
  const store::InstallResult result = store::install(connection.handle(), install);

  const auto limit = static_cast<long long>(result.max_record_bytes);
  if (result.created) {
    std::printf("%s: tables created (schema %d), records up to %lld bytes\n", flags.db.c_str(), store::kSchemaVersion,
                limit);
  } else if (result.old_max_record_bytes != result.max_record_bytes) {
    std::printf("%s: the limit for records is now %lld bytes (it was %lld)\n", flags.db.c_str(), limit,
                static_cast<long long>(result.old_max_record_bytes));
  } else if (result.repaired) {
    std::printf("%s: what was missing is there again (schema %d), records up to %lld bytes\n", flags.db.c_str(),
                store::kSchemaVersion, limit);
  } else {
    std::printf("%s: nothing to do (schema %d), records up to %lld bytes\n", flags.db.c_str(), store::kSchemaVersion,
                limit);
  }
  return ExitCode::ok;
}

}  // namespace

void add_init_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<InitFlags>();
  CLI::App* command = app.add_subcommand("init", "Create or migrate the tables in a database file");
  show_examples(*command, kExamples);
  command->add_option("--db", flags->db, "The database file; created where it is missing")
      ->required()
      ->envname("OUTBOX_RELAY_DB");
  command
      ->add_option("--max-record-bytes", flags->max_record_bytes,
                   "Limit for key + payload + headers of an event (1000000 for a new file)")
      ->check(whole_number(1, std::int64_t{1} << 30));
  command->callback([flags, &chosen] { chosen = [flags] { return init(*flags); }; });
}

}  // namespace txbox::relay
