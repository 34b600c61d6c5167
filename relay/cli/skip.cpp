#include "relay/cli/commands.hpp"
#include "relay/cli/row_action.hpp"

namespace txbox::relay {

namespace {
constexpr char kExamples[] = R"(Examples:
  outbox-relay skip --db shop.db 01890a5d-ac96-774b-bcce-b302099a8057 --reason "refused by schema"
  outbox-relay skip --db shop.db --topic orders --dry-run
  outbox-relay skip --db shop.db --all --yes
  outbox-relay skip --db shop.db --state waiting --topic retired

A skipped row is never published, and `prune` removes it in time; until then `retry` brings it back. A choice without
--state means parked rows: others must be named by their state. The relay may run meanwhile, or not.)";
}  // namespace

void add_skip_command(CLI::App& app, Action& chosen) {
  add_row_command(app, chosen,
                  {.action = store::ToolAction::skip,
                   .name = "skip",
                   .description = "Give rows up for good: their keys go on without them",
                   .examples = kExamples});
}

}  // namespace txbox::relay
