#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include <malloc.h>

#include <CLI/CLI.hpp>

#include <txbox/base/error.hpp>
#include <txbox/base/random.hpp>
#include <txbox/kafka/settings.hpp>
#include <txbox/store/file_guard.hpp>

#include "relay/cli/commands.hpp"
#include "relay/cli/duration.hpp"
#include "relay/cli/kafka_properties.hpp"
#include "relay/cli/log.hpp"
#include "relay/cli/process.hpp"
#include "relay/cli/stop_signals.hpp"
#include "relay/cli/version.hpp"
#include "relay/engine/runner.hpp"

namespace txbox::relay {

namespace {

struct RunFlags {
  std::vector<std::string> db;
  std::string brokers;
  std::vector<std::string> properties;
  bool drain = false;
  std::string timeout;
  bool standby = false;
  std::string on_refusal = "block";
  std::string id_header = "id";
  std::string log_level = "info";
  std::string log_format = "text";
};

/// Every option of `run` as the environment names it.
const std::vector<std::string>& run_variables() {
  static const std::vector<std::string> variables{
      "OUTBOX_RELAY_DB",        "OUTBOX_RELAY_BROKERS",   "OUTBOX_RELAY_DRAIN",
      "OUTBOX_RELAY_TIMEOUT",   "OUTBOX_RELAY_STANDBY",   "OUTBOX_RELAY_ON_REFUSAL",
      "OUTBOX_RELAY_ID_HEADER", "OUTBOX_RELAY_LOG_LEVEL", "OUTBOX_RELAY_LOG_FORMAT"};
  return variables;
}

LogLevel level_of(const std::string& word) {
  if (word == "debug") return LogLevel::debug;
  if (word == "info") return LogLevel::info;
  return word == "warning" ? LogLevel::warning : LogLevel::error;
}

/// A second lock on one file would say that another relay holds it.
void refuse_repeated_files(const std::vector<std::string>& paths) {
  for (auto path = paths.begin(); path != paths.end(); ++path) {
    const bool repeated = std::any_of(paths.begin(), path, [&path](const std::string& earlier) {
      std::error_code not_there;  // Then opening it says so.
      return earlier == *path || std::filesystem::equivalent(earlier, *path, not_there);
    });
    if (repeated) throw Error(ErrorCode::configuration, *path + ": is given twice to --db");
  }
}

void bound_memory() {
  // Each thread of librdkafka would get an arena of its own, and memory that one of them freed would serve no other.
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

RunnerOptions runner_options(const RunFlags& flags, StopSignals& signals, const LogSink& log) {
  const std::vector<std::string> environment = process_environment();
  check_environment(environment, run_variables());
  RunnerOptions options;
  options.kafka = gather_properties(environment, flags.properties, flags.brokers);
  kafka::check_producer_properties(options.kafka);
  if (!flags.timeout.empty() && !flags.drain) throw Error(ErrorCode::configuration, "--timeout is for --drain");
  refuse_repeated_files(flags.db);
  options.databases = flags.db;
  options.drain = flags.drain;
  options.drain_timeout = flags.timeout.empty() ? std::nullopt : parse_duration(flags.timeout);
  options.standby = flags.standby;
  options.id_header = flags.id_header;
  options.state_directory = store::default_state_directory();
  options.stop_descriptor = signals.descriptor();
  options.take_stop_requests = [&signals] { return signals.take(); };
  options.core.on_refusal = flags.on_refusal == "skip" ? OnRefusal::skip : OnRefusal::block;
  options.core.seed = random_seed();
  options.log = log;
  return options;
}

ExitCode run(const RunFlags& flags) {
  bound_memory();
  ignore_broken_pipes();
  raise_descriptor_limit();
  StopSignals signals;
  const LogSink log =
      make_log(level_of(flags.log_level), flags.log_format == "json" ? LogFormat::json : LogFormat::text);
  try {
    Runner runner(runner_options(flags, signals, log));
    log(LogLevel::info, version_text());
    const RunOutcome outcome = runner.run();
    if (outcome.at_once) {
      // A second signal: nothing below would add safety, for the store survives kill -9 by design.
      std::_Exit(static_cast<int>(outcome.code));
    }
    const std::string published = std::to_string(outcome.published) + " published";
    log(LogLevel::info, (outcome.drained ? "drained: " : "stopped: ") + published);
    return outcome.code;
  } catch (const Error& error) {
    log(LogLevel::error, error.what());
    return exit_code_for(error.code());
  }
}

}  // namespace

void add_run_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand("run", "Publish what is committed until SIGTERM or SIGINT");
  const auto is_duration = [](const std::string& text) {
    return parse_duration(text) ? std::string() : "not a duration such as 30s 5m 2h: " + text;
  };
  const auto is_header = [](const std::string& text) {
    if (text.empty()) return std::string("a header needs a name");
    return text.starts_with("txbox-") ? "the relay's own headers begin with txbox-: " + text : std::string();
  };
  command->add_option("--db", flags->db, "A database file; may be repeated")
      ->required()
      ->envname("OUTBOX_RELAY_DB")
      ->allow_extra_args(false);
  command->add_option("--brokers", flags->brokers, "Kafka's bootstrap servers: HOST:PORT[,HOST:PORT...]")
      ->envname("OUTBOX_RELAY_BROKERS");
  command
      ->add_option("-X", flags->properties,
                   "A librdkafka property NAME=VALUE; may be repeated; also OUTBOX_RELAY_KAFKA_NAME")
      ->allow_extra_args(false);
  command->add_flag("--drain", flags->drain, "Stop when all that was there at the start is sent, held or not yet due")
      ->envname("OUTBOX_RELAY_DRAIN");
  command->add_option("--timeout", flags->timeout, "With --drain: exit 75 after this long (30s 5m 2h)")
      ->check(is_duration)
      ->envname("OUTBOX_RELAY_TIMEOUT");
  command->add_flag("--standby", flags->standby, "Wait while another relay holds the file")
      ->envname("OUTBOX_RELAY_STANDBY");
  command
      ->add_option("--on-refusal", flags->on_refusal,
                   "What becomes of the key of a row that Kafka refuses, once the row is parked: it waits (block), or "
                   "goes on without it (skip)")
      ->check(CLI::IsMember({"block", "skip"}))
      ->envname("OUTBOX_RELAY_ON_REFUSAL")
      ->capture_default_str();
  command->add_option("--id-header", flags->id_header, "Header that carries the event id")
      ->check(is_header)
      ->envname("OUTBOX_RELAY_ID_HEADER")
      ->capture_default_str();
  command->add_option("--log-level", flags->log_level, "Least level of the log")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->envname("OUTBOX_RELAY_LOG_LEVEL")
      ->capture_default_str();
  command->add_option("--log-format", flags->log_format, "How the log is written")
      ->check(CLI::IsMember({"text", "json"}))
      ->envname("OUTBOX_RELAY_LOG_FORMAT")
      ->capture_default_str();
  command->callback([flags, &chosen] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace txbox::relay
