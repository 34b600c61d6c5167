#include <cstdio>
#include <memory>
#include <string>

#include <unistd.h>

#include <CLI/CLI.hpp>

#include <txbox/base/clock.hpp>
#include <txbox/base/error.hpp>
#include <txbox/store/outbox_prune.hpp>
#include <txbox/store/outbox_tools.hpp>

#include "relay/cli/commands.hpp"
#include "relay/cli/help_examples.hpp"
#include "relay/cli/open_file.hpp"
#include "relay/cli/user_name.hpp"
#include "relay/config/duration.hpp"

namespace txbox::relay {

namespace {

constexpr char kExamples[] = R"(Examples:
  outbox-relay prune --db shop.db --older-than 7d
  outbox-relay prune --db shop.db --older-than 12h --reason "disk is filling up" --json

Deletes rows that Kafka acknowledged, and skipped rows that were written, longer ago than that. Whatever is not
sent stays, and so does the newest row. The inbox is not touched: claims stay, however old. It works in short
transactions beside a running relay, or without one. SQLite uses the space again; the file becomes smaller only where
it has auto_vacuum=INCREMENTAL. A running relay does the same by itself: --keep-sent, --keep-skipped.)";

struct PruneFlags {
  std::string db;
  std::string older_than;
  std::string reason;
  bool json = false;
};

/// Deletes until nothing more may go; `deleted` counts along, so that it is known when an error ends it.
void prune_all(store::Connection& connection, std::int64_t before_ms, std::int64_t& deleted) {
  store::OutboxPruner pruner(connection);
  const store::PruneLimits limits{.sent_before_ms = before_ms, .skipped_before_ms = before_ms};
  const bool watched = isatty(STDERR_FILENO) == 1;
  bool more = true;
  while (more) {
    const store::PruneStep step = pruner.step(limits);
    deleted += step.deleted;
    more = step.more;
    if (watched) std::fprintf(stderr, "\r%lld rows deleted", static_cast<long long>(deleted));
  }
  // The result is on stdout.
  if (watched) std::fputs("\r\x1b[K", stderr);
}

ExitCode prune(const PruneFlags& flags) {
  auto connection = open_for_changes(flags.db);
  const std::int64_t before_ms = to_ms(system_clock().wall_now() - *parse_duration(flags.older_than));
  std::int64_t deleted = 0;
  try {
    prune_all(connection, before_ms, deleted);
  } catch (const Error&) {
    if (deleted > 0) {
      std::fprintf(stderr, "outbox-relay: %lld rows deleted before this; run it again for the rest\n",
                   static_cast<long long>(deleted));
    }
    throw;
  }
  if (deleted > 0) {
    store::audit_deed(connection, "prune", std::to_string(deleted) + " rows older than " + flags.older_than,
                      {user_name(), flags.reason});
  }
  if (flags.json) {
    std::printf("{\"deleted\":%lld}\n", static_cast<long long>(deleted));
  } else {
    std::printf("%s: %lld %s deleted\n", flags.db.c_str(), static_cast<long long>(deleted),
                deleted == 1 ? "row" : "rows");
  }
  return ExitCode::ok;
}

}  // namespace

void add_prune_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<PruneFlags>();
  CLI::App* command = app.add_subcommand("prune", "Delete rows that were sent or skipped long ago");
  show_examples(*command, kExamples);
  command->add_option("--db", flags->db, "The database file")->required()->envname("OUTBOX_RELAY_DB");
  command->add_option("--older-than", flags->older_than, "How long ago: 30s 5m 2h 7d")
      ->required()
      ->check([](const std::string& text) {
        return parse_duration(text) ? std::string() : "not a duration such as 30s 5m 2h 7d: " + text;
      });
  command->add_option("--reason", flags->reason, "Why, for the audit; put no key and no payload there");
  command->add_flag("--json", flags->json, "One JSON object");
  command->callback([flags, &chosen] { chosen = [flags] { return prune(*flags); }; });
}

}  // namespace txbox::relay
