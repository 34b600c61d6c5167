#include <cstdio>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include <txbox/store/inbox_queries.hpp>
#include <txbox/store/outbox_queries.hpp>

#include "relay/cli/commands.hpp"
#include "relay/cli/help_examples.hpp"
#include "relay/cli/inbox_output.hpp"
#include "relay/cli/open_file.hpp"
#include "relay/cli/output.hpp"

namespace txbox::relay {

namespace {

constexpr char kExamples[] = R"(Examples:
  outbox-relay show --db shop.db 01a22e45-ac63-745b-be46-bfdfbba0d8d3
  outbox-relay show --db billing.db order-17 --payload --json

Whatever the file knows of the event: its row of the outbox, and for each consumer group whether it applied the event or
gave it up, when, and where it came from. Exit 1 when it is in neither box.)";

struct ShowFlags {
  std::string db;
  std::string event_id;
  bool payload = false;
  bool json = false;
};

ExitCode show(const ShowFlags& flags) {
  const ReadableFile file = open_any_for_reading(flags.db);
  EventReport event{.event_id = flags.event_id, .row = std::nullopt, .inbox = {}};
  if (file.boxes.outbox) event.row = store::find_outbox_row(file.connection.handle(), flags.event_id);
  if (file.boxes.inbox) event.inbox = store::find_inbox_event(file.connection.handle(), flags.event_id, flags.payload);
  if (!event.row && event.inbox.claims.empty() && event.inbox.parked.empty()) {
    std::fprintf(stderr, "outbox-relay: no event %s in %s; EVENT_ID is what `ls` shows in the column of that name\n",
                 printable(flags.event_id).c_str(), flags.db.c_str());
    return ExitCode::failure;
  }
  const std::string text =
      flags.json ? event_as_json(event, flags.payload) + "\n" : event_as_text(event, flags.payload);
  std::fputs(text.c_str(), stdout);
  return ExitCode::ok;
}

}  // namespace

void add_show_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<ShowFlags>();
  CLI::App* command =
      app.add_subcommand("show", "Show one event: its outbox row, and what consumer groups did with it");
  show_examples(*command, kExamples);
  command->add_option("--db", flags->db, "The database file")->required()->envname("OUTBOX_RELAY_DB");
  command->add_option("EVENT_ID", flags->event_id, "The event's id, as consumers see it in header `id`")->required();
  command->add_flag("--payload", flags->payload, "With its payload");
  command->add_flag("--json", flags->json, "One JSON object; bytes that are not UTF-8 as {\"base64\":...}");
  command->callback([flags, &chosen] { chosen = [flags] { return show(*flags); }; });
}

}  // namespace txbox::relay
