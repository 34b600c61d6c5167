#include "relay/cli/commands.hpp"
#include "relay/cli/row_action.hpp"

namespace txbox::relay {

namespace {
constexpr char kExamples[] = R"(Examples:
  outbox-relay retry --db shop.db 01890a5d-ac96-774b-bcce-b302099a8057 --reason "limit raised"
  outbox-relay retry --db shop.db --topic orders --dry-run
  outbox-relay retry --db shop.db --all --yes
  outbox-relay retry --db shop.db --state skipped --key A1

The record carries the header `txbox-redriven: retry`. A parked row's key goes on behind it in commit order; a skipped
row comes alone, since its key has gone on. A choice without --state means parked rows. The relay may run, or not.)";
}  // namespace

void add_retry_command(CLI::App& app, Action& chosen) {
  add_row_command(app, chosen,
                  {.action = store::ToolAction::retry,
                   .name = "retry",
                   .description = "Try parked or skipped rows again; their keys follow in order",
                   .examples = kExamples});
}

}  // namespace txbox::relay
