#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <txbox/store/inbox_queries.hpp>

#include "relay/cli/commands.hpp"
#include "relay/cli/help_examples.hpp"
#include "relay/cli/inbox_output.hpp"
#include "relay/cli/open_file.hpp"
#include "relay/cli/output.hpp"
#include "relay/cli/whole_number.hpp"

namespace txbox::relay {

namespace {

constexpr char kExamples[] = R"(Examples:
  outbox-relay inbox ls --db billing.db
  outbox-relay inbox ls --db billing.db --group billing --newest --limit 20
  outbox-relay inbox ls --db billing.db --group billing --parked --json --payload

Claims come from the highest event id down, which is the newest first where txbox made the ids, and costs what is shown.
--newest goes by time and reads every claim of the group; so does --topic until enough match.
--parked lists the messages that were given up and are kept whole in the file, the newest first. A message that was
given up to a dead-letter topic is not among them: its claim says `given up`.)";

struct InboxListFlags {
  std::string db;
  std::string group;
  std::optional<std::string> topic;
  std::int64_t limit = 100;
  bool newest = false;
  bool parked = false;
  bool payload = false;
  bool json = false;
};

/// Both return how many they listed.
std::int64_t list_claims(sqlite3* db, const InboxListFlags& flags) {
  std::int64_t listed = 0;
  const store::InboxClaimFilter filter{
      .group = flags.group, .topic = flags.topic, .by_time = flags.newest, .limit = flags.limit};
  store::list_inbox_claims(db, filter, [&](const store::InboxClaimRow& claim) {
    ++listed;
    std::fputs((flags.json ? claim_as_json(claim) + "\n" : claim_as_line(claim)).c_str(), stdout);
  });
  return listed;
}

std::int64_t list_parked(sqlite3* db, const InboxListFlags& flags) {
  std::int64_t listed = 0;
  const store::InboxParkedFilter filter{
      .group = flags.group, .topic = flags.topic, .limit = flags.limit, .with_payload = flags.payload};
  store::list_inbox_parked(db, filter, [&](const store::InboxParkedRow& row) {
    ++listed;
    std::fputs((flags.json ? parked_as_json(row, flags.payload) + "\n" : parked_as_line(row)).c_str(), stdout);
  });
  return listed;
}

bool is_known(sqlite3* db, const std::string& group) {
  bool known = false;
  store::list_inbox_groups(db, {.group = group}, [&known](const store::InboxGroup&) { known = true; });
  return known;
}

/// Takes the group where the file has exactly one; otherwise says why not, and returns with what the program ends.
std::optional<ExitCode> choose_group(sqlite3* db, InboxListFlags& flags) {
  constexpr std::size_t kGroupsNamed = 10;
  std::vector<std::string> groups;
  std::size_t count = 0;
  const bool more = store::list_inbox_groups(db, {}, [&](const store::InboxGroup& group) {
    if (++count <= kGroupsNamed) groups.push_back(group.group);
  });
  if (count == 0) {
    std::fputs("outbox-relay: no rows: no consumer group has used this file\n", stderr);
    return ExitCode::ok;
  }
  if (count == 1) {
    flags.group = groups.front();
    return std::nullopt;
  }
  std::string names;
  for (const std::string& group : groups) names += (names.empty() ? "" : ", ") + printable(group);
  if (more || count > groups.size()) names += ", ...";
  std::fprintf(stderr, "outbox-relay: the file has more than one consumer group, choose with --group: %s\n",
               names.c_str());
  return ExitCode::usage;
}

ExitCode inbox_list(InboxListFlags flags) {
  const auto connection = open_inbox_for_reading(flags.db);
  if (flags.group.empty()) {
    if (const auto code = choose_group(connection.handle(), flags)) return *code;
  }
  if (!flags.json) std::fputs((flags.parked ? parked_title() : claims_title()).c_str(), stdout);
  const std::int64_t listed = (flags.parked ? list_parked : list_claims)(connection.handle(), flags);
  if (listed == 0 && !is_known(connection.handle(), flags.group)) {
    std::fprintf(stderr, "outbox-relay: no consumer group %s in %s\n", printable(flags.group).c_str(),
                 flags.db.c_str());
  } else if (listed == 0) {
    std::fputs("outbox-relay: no rows\n", stderr);
  }
  return ExitCode::ok;
}

}  // namespace

void add_inbox_ls_command(CLI::App& inbox, Action& chosen) {
  auto flags = std::make_shared<InboxListFlags>();
  CLI::App* command = inbox.add_subcommand("ls", "List a group's claims, or the messages that it parked");
  show_examples(*command, kExamples);
  command->add_option("--db", flags->db, "The consumer's database file")->required()->envname("OUTBOX_RELAY_DB");
  command->add_option("--group", flags->group, "The consumer group; not needed where the file has one");
  command->add_option("--topic", flags->topic, "Only messages of this topic");
  auto* parked = command->add_flag("--parked", flags->parked, "Parked messages instead of claims");
  command->add_flag("--newest", flags->newest, "The newest claims by time; reads every claim of the group")
      ->excludes(parked);
  command->add_option("--limit", flags->limit, "How many at most")
      ->check(whole_number(1, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  auto* json =
      command->add_flag("--json", flags->json, "One JSON object a line; bytes that are not UTF-8 as {\"base64\":...}");
  command->add_flag("--payload", flags->payload, "With --parked --json: payload and headers as well")
      ->needs(parked)
      ->needs(json);
  command->callback([flags, &chosen] { chosen = [flags] { return inbox_list(*flags); }; });
}

}  // namespace txbox::relay
