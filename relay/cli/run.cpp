#include <cstdio>
#include <cstdlib>
#include <memory>

#include <malloc.h>

#include <CLI/CLI.hpp>

#include <txbox/base/clock.hpp>
#include <txbox/base/error.hpp>
#include <txbox/base/random.hpp>
#include <txbox/store/file_guard.hpp>

#include "relay/cli/commands.hpp"
#include "relay/cli/help_examples.hpp"
#include "relay/cli/log.hpp"
#include "relay/cli/option_flags.hpp"
#include "relay/cli/process.hpp"
#include "relay/cli/reload.hpp"
#include "relay/cli/stop_signals.hpp"
#include "relay/cli/version.hpp"
#include "relay/cli/watch_server.hpp"
#include "relay/config/configuration.hpp"
#include "relay/config/environment.hpp"
#include "relay/config/topic_shape.hpp"
#include "relay/engine/runner.hpp"
#include "relay/host/service_manager.hpp"

namespace txbox::relay {

namespace {

constexpr char kExamples[] = R"(Examples:
  outbox-relay run --db shop.db --brokers localhost:9092
  outbox-relay run --db shop.db --brokers localhost:9092 --drain --timeout 5m
  outbox-relay run --config relay.toml --standby)";

void bound_memory() {
  // Each thread of librdkafka would get an arena of its own, and memory that one of them freed would serve no other.
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

RunnerOptions runner_options(const Configuration& configuration, StopSignals& signals, Reload& reload,
                             const LogSink& log) {
  RunnerOptions options;
  options.kafka = configuration.kafka();
  options.databases = configuration.list("db");
  options.drain = configuration.truth("drain");
  options.drain_timeout = configuration.duration("timeout");
  options.standby = configuration.truth("relay.standby");
  options.create_topics = parse_topic_shape(configuration.text("relay.create_topics"));
  options.id_header = configuration.text("relay.id_header");
  options.core.window_bytes = configuration.size("relay.window_bytes");
  options.core.on_refusal = on_refusal_of(configuration);
  options.core.keep = keep_limits_of(configuration);
  options.state_directory = store::default_state_directory();
  options.stop_descriptor = signals.descriptor();
  options.take_stop_requests = [&signals] { return signals.take(); };
  options.change_descriptor = reload.descriptor();
  options.take_changes = [&reload] { return reload.take(); };
  options.core.seed = random_seed();
  options.log = log;
  return options;
}

ExitCode publish(const Settings& flags, const Configuration& configuration) {
  bound_memory();
  ignore_broken_pipes();
  raise_descriptor_limit();
  StopSignals signals;
  const Log made = make_log(log_level_of(configuration),
                            configuration.text("log.format") == "json" ? LogFormat::json : LogFormat::text);
  const auto liveness = std::make_shared<Liveness>();
  ServiceManager manager(liveness);
  Reload reload(flags, configuration, made, manager);
  const LogSink& log = made.sink;
  try {
    for (const std::string& warning : configuration.warnings()) log(LogLevel::warning, warning);
    // Before the relay does anything, so that one that stands by can be looked at too.
    const WatchServer watch(configuration, liveness, log);
    RunnerOptions options = runner_options(configuration, signals, reload, log);
    options.board = watch.board();
    options.liveness = liveness;
    options.pulse_interval = manager.interval();
    options.pulse = [&manager](const RunnerPulse& pulse) { manager.tell(pulse, system_clock().steady_now()); };
    Runner runner(std::move(options));
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

ExitCode run(const Settings& flags) {
  const Configuration configuration(flags, process_environment());
  if (configuration.list("db").empty() && configuration.file().empty()) {
    std::fputs("outbox-relay: --db is required\nRun outbox-relay run --help for more.\n", stderr);
    return ExitCode::usage;
  }
  require_runnable(configuration);
  return publish(flags, configuration);
}

}  // namespace

void add_run_command(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("run", "Publish what is committed until SIGTERM or SIGINT");
  show_examples(*command, kExamples);
  auto flags = std::make_shared<OptionFlags>(*command);
  command->callback([flags, &chosen] { chosen = [flags] { return run(flags->settings()); }; });
}

}  // namespace txbox::relay
