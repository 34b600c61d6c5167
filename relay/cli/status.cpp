#include <charconv>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include <txbox/base/clock.hpp>
#include <txbox/base/error.hpp>
#include <txbox/store/file_guard.hpp>
#include <txbox/store/file_survey.hpp>
#include <txbox/store/wal_readers.hpp>

#include "relay/cli/commands.hpp"
#include "relay/cli/help_examples.hpp"
#include "relay/cli/open_file.hpp"
#include "relay/cli/status_output.hpp"
#include "relay/cli/whole_number.hpp"
#include "relay/config/duration.hpp"
#include "relay/engine/trouble_note.hpp"

namespace txbox::relay {

namespace {

constexpr char kExamples[] = R"(Examples:
  outbox-relay status --db shop.db
  outbox-relay status --db shop.db --json --max-age 5m --max-parked 0)";

struct StatusFlags {
  std::string db;
  bool json = false;
  std::string max_age;
  std::optional<std::int64_t> max_parked;
};

/// Seconds, or a duration with its unit.
std::optional<double> age_seconds(const std::string& text) {
  if (const auto duration = parse_duration(text)) return static_cast<double>(duration->count()) / 1000.0;
  double seconds = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || rest != text.data() + text.size() || !(seconds >= 0)) return std::nullopt;
  return seconds;
}

FileStatus read_status(const std::string& path) {
  const ReadableFile file = open_any_for_reading(path);
  FileStatus status;
  status.boxes = file.boxes;
  if (file.boxes.outbox) status.counts = store::count_outbox(file.connection.handle());
  if (file.boxes.inbox) {
    status.more_groups =
        store::list_inbox_groups(file.connection.handle(), {.group = std::nullopt},
                                 [&status](const store::InboxGroup& group) { status.groups.push_back(group); });
  }
  if (const auto holder = store::relay_lock_holder(path)) {
    status.relay_pid = holder->pid;
    status.broker_trouble = read_trouble_note(state_directory_of(holder->pid), holder->pid);
  }
  status.wal_bytes = store::survey_file(path).wal_bytes;
  status.wal_readers = store::lasting_wal_readers(file.connection);
  return status;
}

ExitCode status(const StatusFlags& flags) {
  const FileStatus status = read_status(flags.db);
  if (!flags.max_age.empty() && !status.boxes.outbox) {
    throw Error(ErrorCode::not_installed, "--max-age: " + flags.db + " has no outbox, so no row of it is ever too old");
  }
  const std::int64_t now_ms = to_ms(system_clock().wall_now());
  const std::string text = flags.json ? status_as_json(status, now_ms) + "\n" : status_as_text(status, now_ms);
  std::fputs(text.c_str(), stdout);

  ExitCode verdict = ExitCode::ok;
  if (!flags.max_age.empty() && oldest_ready_seconds(status.counts, now_ms) > *age_seconds(flags.max_age)) {
    std::fprintf(stderr, "outbox-relay: the oldest ready row is older than %s\n", flags.max_age.c_str());
    verdict = ExitCode::check_failed;
  }
  if (flags.max_parked && parked_in_all(status) > *flags.max_parked) {
    std::fprintf(stderr, "outbox-relay: more than %lld rows or messages are parked\n",
                 static_cast<long long>(*flags.max_parked));
    verdict = ExitCode::check_failed;
  }
  return verdict;
}

}  // namespace

void add_status_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<StatusFlags>();
  CLI::App* command =
      app.add_subcommand("status", "Count rows by state, and what consumer groups did; exit 3 past a limit");
  show_examples(*command, kExamples);
  command->add_option("--db", flags->db, "The database file")->required()->envname("OUTBOX_RELAY_DB");
  command->add_flag("--json", flags->json, "One JSON object");
  command->add_option("--max-age", flags->max_age, "Exit 3 when the oldest ready row is older: seconds, or 30s 5m 2h")
      ->check([](const std::string& text) {
        return age_seconds(text) ? std::string() : "not a number of seconds or a duration such as 30s: " + text;
      });
  command->add_option("--max-parked", flags->max_parked, "Exit 3 when more rows and inbox messages are parked")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()));
  command->callback([flags, &chosen] { chosen = [flags] { return status(*flags); }; });
}

}  // namespace txbox::relay
