#include "relay/cli/commands.hpp"
#include "relay/cli/row_action.hpp"

namespace txbox::relay {

namespace {
constexpr char kExamples[] = R"(Examples:
  outbox-relay park --db shop.db 01890a5d-ac96-774b-bcce-b302099a8057 --reason "ticket 7"
  outbox-relay park --db shop.db --key A1 --dry-run
  outbox-relay park --db shop.db --topic orders --yes

A row whose record is with Kafka already is sent, whatever is asked here: `show` tells. Later rows of a parked row's key
wait until it is retried or skipped. The relay may run meanwhile, or not.)";
}  // namespace

void add_park_command(CLI::App& app, Action& chosen) {
  add_row_command(app, chosen,
                  {.action = store::ToolAction::park,
                   .name = "park",
                   .description = "Hold rows back by hand: their keys wait",
                   .examples = kExamples});
}

}  // namespace txbox::relay
