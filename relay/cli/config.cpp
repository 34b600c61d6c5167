#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <txbox/base/error.hpp>

#include "relay/cli/client_check.hpp"
#include "relay/cli/commands.hpp"
#include "relay/cli/config_output.hpp"
#include "relay/cli/help_examples.hpp"
#include "relay/cli/option_flags.hpp"
#include "relay/config/configuration.hpp"
#include "relay/config/environment.hpp"
#include "relay/config/reference.hpp"

namespace txbox::relay {

namespace {

constexpr char kExamples[] = R"(Examples:
  outbox-relay config init > relay.toml
  outbox-relay config check --config relay.toml
  outbox-relay config show --config relay.toml --json)";
constexpr char kCheckExamples[] = R"(Examples:
  outbox-relay config check --config relay.toml
  outbox-relay config check --config relay.toml --db shop.db -X linger.ms=5)";
constexpr char kShowExamples[] = R"(Examples:
  outbox-relay config show --config relay.toml
  outbox-relay config show --config relay.toml --log-level debug --json)";
constexpr char kInitExamples[] = R"(Examples:
  outbox-relay config init > relay.toml)";

ExitCode print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return ExitCode::ok;
}

ExitCode check(const Settings& flags) {
  const Configuration configuration(flags, process_environment());
  require_runnable(configuration);
  check_client(configuration.kafka());
  for (const std::string& warning : configuration.warnings()) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  return print((configuration.file().empty() ? std::string("the configuration") : configuration.file()) + ": ok\n");
}

ExitCode show(const Settings& flags, bool json) {
  const Configuration configuration(flags, process_environment());
  for (const std::string& warning : configuration.warnings()) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  const std::vector<EffectiveSetting> settings = configuration.effective();
  return print(json ? settings_as_json(settings) : settings_as_text(settings));
}

void add_check(CLI::App& config, Action& chosen) {
  CLI::App* command = config.add_subcommand("check", "Say what is wrong with a configuration, and start nothing");
  show_examples(*command, kCheckExamples);
  auto flags = std::make_shared<OptionFlags>(*command);
  command->callback([flags, &chosen] { chosen = [flags] { return check(flags->settings()); }; });
}

void add_show(CLI::App& config, Action& chosen) {
  CLI::App* command = config.add_subcommand("show", "Every value with where it came from; secrets are masked");
  show_examples(*command, kShowExamples);
  auto flags = std::make_shared<OptionFlags>(*command);
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "One JSON object");
  command->callback([flags, json, &chosen] { chosen = [flags, json] { return show(flags->settings(), *json); }; });
}

void add_init(CLI::App& config, Action& chosen) {
  CLI::App* command = config.add_subcommand("init", "Print a configuration file with a word on each option");
  show_examples(*command, kInitExamples);
  command->callback([&chosen] { chosen = [] { return print(configuration_example()); }; });
}

}  // namespace

void add_config_command(CLI::App& app, Action& chosen) {
  CLI::App* config = app.add_subcommand("config", "The configuration of run: check it, show it, begin one");
  add_check(*config, chosen);
  add_show(*config, chosen);
  add_init(*config, chosen);
  config->require_subcommand(1);
  // Last, since commands that are added take over the formatter of the one above.
  show_examples(*config, kExamples);
}

}  // namespace txbox::relay
