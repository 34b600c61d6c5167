#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include <CLI/CLI.hpp>

#include <txbox/store/outbox_queries.hpp>

#include "relay/cli/commands.hpp"
#include "relay/cli/help_examples.hpp"
#include "relay/cli/open_file.hpp"
#include "relay/cli/output.hpp"
#include "relay/cli/whole_number.hpp"

namespace txbox::relay {

namespace {

constexpr char kExamples[] = R"(Examples:
  outbox-relay ls --db shop.db --state parked
  outbox-relay ls --db shop.db --topic orders --key A1 --json)";

struct ListFlags {
  std::string db;
  bool json = false;
  store::RowFilter filter;
};

ExitCode list(const ListFlags& flags) {
  const auto connection = open_for_reading(flags.db);
  if (!flags.json) std::fputs(list_title().c_str(), stdout);
  bool any = false;
  store::list_outbox(connection.handle(), flags.filter, [&](const store::StatusRow& row) {
    any = true;
    const std::string line =
        flags.json ? row_as_json(row, flags.filter.with_payload, flags.filter.with_payload) + "\n" : row_as_line(row);
    std::fputs(line.c_str(), stdout);
  });
  if (!any) std::fputs("outbox-relay: no rows\n", stderr);
  return ExitCode::ok;
}

}  // namespace

void add_ls_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<ListFlags>();
  CLI::App* command = app.add_subcommand("ls", "List rows, the newest that match, in commit order");
  show_examples(*command, kExamples);
  command->add_option("--db", flags->db, "The database file")->required()->envname("OUTBOX_RELAY_DB");
  command->add_option("--state", flags->filter.state, "Only rows in this state")
      ->check(CLI::IsMember({"ready", "scheduled", "sent", "parked", "blocked", "waiting", "skipped"}));
  command->add_option("--topic", flags->filter.topic, "Only rows of this topic");
  command->add_option("--key", flags->filter.key, "Only rows with this key");
  command->add_option("--limit", flags->filter.limit, "How many rows at most")
      ->check(whole_number(1, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "One JSON object a line; a key that is not UTF-8 as {\"base64\":...}");
  command->add_flag("--payload", flags->filter.with_payload, "With --json: payload and headers as well")
      ->needs(command->get_option("--json"));
  command->callback([flags, &chosen] { chosen = [flags] { return list(*flags); }; });
}

}  // namespace txbox::relay
