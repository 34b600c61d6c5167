#include <charconv>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include <txbox/base/clock.hpp>
#include <txbox/store/outbox_queries.hpp>

#include "relay/cli/commands.hpp"
#include "relay/cli/duration.hpp"
#include "relay/cli/open_file.hpp"
#include "relay/cli/output.hpp"

namespace txbox::relay {

namespace {

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

ExitCode status(const StatusFlags& flags) {
  const auto connection = open_for_reading(flags.db);
  const store::OutboxCounts counts = store::count_outbox(connection.handle());
  const std::int64_t now_ms = to_ms(system_clock().wall_now());
  const std::string text = flags.json ? counts_as_json(counts, now_ms) + "\n" : counts_as_text(counts, now_ms);
  std::fputs(text.c_str(), stdout);

  ExitCode verdict = ExitCode::ok;
  if (!flags.max_age.empty() && oldest_ready_seconds(counts, now_ms) > *age_seconds(flags.max_age)) {
    std::fprintf(stderr, "outbox-relay: the oldest ready row is older than %s\n", flags.max_age.c_str());
    verdict = ExitCode::check_failed;
  }
  if (flags.max_parked && counts.parked > *flags.max_parked) {
    std::fprintf(stderr, "outbox-relay: more than %lld rows are parked\n", static_cast<long long>(*flags.max_parked));
    verdict = ExitCode::check_failed;
  }
  return verdict;
}

}  // namespace

void add_status_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<StatusFlags>();
  CLI::App* command = app.add_subcommand("status", "Count rows by state; exit 3 past a limit");
  command->add_option("--db", flags->db, "The database file")->required()->envname("OUTBOX_RELAY_DB");
  command->add_flag("--json", flags->json, "One JSON object");
  command->add_option("--max-age", flags->max_age, "Exit 3 when the oldest ready row is older: seconds, or 30s 5m 2h")
      ->check([](const std::string& text) {
        return age_seconds(text) ? std::string() : "not a number of seconds or a duration such as 30s: " + text;
      });
  command->add_option("--max-parked", flags->max_parked, "Exit 3 when more rows are parked")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()));
  command->callback([flags, &chosen] { chosen = [flags] { return status(*flags); }; });
}

}  // namespace txbox::relay
