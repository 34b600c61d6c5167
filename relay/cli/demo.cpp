#include "relay/demo/demo.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "relay/cli/commands.hpp"

namespace txbox::relay {

void add_demo_command(CLI::App& app, Action& chosen) {
  constexpr std::int64_t kOrdersMax = 10'000'000;
  auto options = std::make_shared<demo::DemoOptions>();
  CLI::App* command = app.add_subcommand("demo", "See it work: a shop, Kafka's stand-in, and a relay that is killed");
  command
      ->add_option(
          "--orders", options->orders,
          "Orders that are committed (" + std::to_string(options->orders) + "); one in ten more is rolled back")
      ->check(CLI::Range(std::int64_t{1}, kOrdersMax));
  command->add_option("--seed", options->seed, "The same orders and the same moments to kill again");
  command->add_flag("--json", options->json, "The balance as one JSON object; the words go to stderr");
  command->callback([options, &chosen] {
    chosen = [options] { return demo::run_demo(*options) == 0 ? ExitCode::ok : ExitCode::failure; };
  });
}

}  // namespace txbox::relay
