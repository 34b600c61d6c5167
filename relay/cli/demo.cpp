#include "relay/demo/demo.hpp"

#include <cstdint>
#include <limits>
#include <memory>

#include <CLI/CLI.hpp>

#include "relay/cli/commands.hpp"
#include "relay/cli/help_examples.hpp"
#include "relay/cli/whole_number.hpp"
#include "relay/demo/billing_child.hpp"

namespace txbox::relay {
namespace {

constexpr char kExamples[] = R"(Examples:
  outbox-relay demo
  outbox-relay demo --orders 5000 --seed 7 --json)";

/// The demo's consumer process; not for people, so no help names it.
CLI::App* add_billing(CLI::App& demo, Action& chosen) {
  auto options = std::make_shared<demo::BillingOptions>();
  CLI::App* command = demo.add_subcommand("billing", "The demo's consumer")->group("");
  command->add_option("--db", options->db)->required();
  command->add_option("--brokers", options->brokers)->required();
  command->add_option("--topic", options->topic)->required();
  command->add_option("--group", options->group)->required();
  command->add_option("--tally", options->tally)->required();
  command->callback([options, &chosen] {
    chosen = [options] {
      demo::run_billing(*options);
      return ExitCode::ok;
    };
  });
  return command;
}

}  // namespace

void add_demo_command(CLI::App& app, Action& chosen) {
  constexpr std::uint64_t kOrdersMax = 10'000'000;
  auto options = std::make_shared<demo::DemoOptions>();
  CLI::App* command =
      app.add_subcommand("demo", "See it work: a shop, Kafka's stand-in, a relay and a consumer that are killed");
  show_examples(*command, kExamples);
  command
      ->add_option(
          "--orders", options->orders,
          "Orders that are committed (" + std::to_string(options->orders) + "); one in ten more is rolled back")
      ->check(whole_number(1, kOrdersMax));
  command->add_option("--seed", options->seed, "The same orders and the same moments to kill again")
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
  command->add_flag("--json", options->json, "The balance as one JSON object; the words go to stderr");
  const CLI::App* billing = add_billing(*command, chosen);
  command->callback([options, billing, &chosen] {
    if (billing->parsed()) return;  // Then that one has chosen, and this comes after it.
    chosen = [options] { return demo::run_demo(*options) == 0 ? ExitCode::ok : ExitCode::failure; };
  });
}

}  // namespace txbox::relay
