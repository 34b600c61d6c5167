#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <txbox/store/inbox_queries.hpp>

#include "relay/cli/commands.hpp"
#include "relay/cli/help_examples.hpp"
#include "relay/cli/inbox_output.hpp"
#include "relay/cli/open_file.hpp"
#include "relay/cli/output.hpp"

namespace txbox::relay {

namespace {

constexpr char kExamples[] = R"(Examples:
  outbox-relay inbox status --db billing.db
  outbox-relay inbox status --db billing.db --group billing --json
  outbox-relay inbox status --db billing.db --count

For each consumer group: what it claimed and gave up; its partitions with the offset that comes next, `clean` when the
partition was given up in order, `in hand` when a consumer has it or ended in the middle; and the messages that are
retried or suspect. Claims are counted up to a limit and then told as "over 10000", so that the answer is quick on any
file; --count counts them all, about two million a second. Messages without an event id leave no claim: those that went
to a dead-letter topic are not counted as given up, those that the file kept are counted as parked.)";

struct InboxStatusFlags {
  std::string db;
  store::InboxGroupQuery query{.group = std::nullopt, .with_details = true};
  bool json = false;
};

/// Groups are written as they are read, so that memory is that of one group.
ExitCode inbox_status(const InboxStatusFlags& flags) {
  const auto connection = open_inbox_for_reading(flags.db);
  std::int64_t shown = 0;
  const bool more = store::list_inbox_groups(connection.handle(), flags.query, [&](const store::InboxGroup& group) {
    const char* before = shown == 0 ? (flags.json ? "{\"groups\":[" : "") : (flags.json ? "," : "\n");
    std::fputs((before + (flags.json ? group_as_json(group) : group_as_text(group))).c_str(), stdout);
    ++shown;
  });
  if (shown == 0 && flags.query.group) {
    std::fprintf(stderr, "outbox-relay: no consumer group %s in %s\n", printable(*flags.query.group).c_str(),
                 flags.db.c_str());
    return ExitCode::failure;
  }
  if (flags.json) {
    std::printf("%s],\"more_groups\":%s}\n", shown == 0 ? "{\"groups\":[" : "", more ? "true" : "false");
  } else if (shown == 0) {
    std::puts("no consumer group has used this file");
  }
  if (more)
    std::fprintf(stderr, "outbox-relay: there are more groups than these %lld\n", static_cast<long long>(shown));
  return ExitCode::ok;
}

}  // namespace

void add_inbox_status_command(CLI::App& inbox, Action& chosen) {
  auto flags = std::make_shared<InboxStatusFlags>();
  CLI::App* command = inbox.add_subcommand("status", "Where consumer groups stand");
  show_examples(*command, kExamples);
  command->add_option("--db", flags->db, "The consumer's database file")->required()->envname("OUTBOX_RELAY_DB");
  command->add_option("--group", flags->query.group, "Only this consumer group; exit 1 when the file knows it not");
  command->add_flag("--count", flags->query.count_all_claims, "Count every claim, however many");
  command->add_flag("--json", flags->json, "One JSON object: {\"groups\":[...]}");
  command->callback([flags, &chosen] { chosen = [flags] { return inbox_status(*flags); }; });
}

}  // namespace txbox::relay
