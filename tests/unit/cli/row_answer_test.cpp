#include "relay/cli/row_answer.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace txbox::relay {

using store::ToolAction;
using store::ToolOutcome;

namespace {
RowAnswer answer(ToolOutcome outcome) { return {.event_id = "order-7", .id = 7, .outcome = outcome}; }
}  // namespace

TEST_CASE("each answer names the event and the reason") {
  CHECK(answer_as_text(ToolAction::park, answer(ToolOutcome::done), false) == "event order-7 parked");
  CHECK(answer_as_text(ToolAction::retry, answer(ToolOutcome::done), true) == "event order-7 would be retried");
  CHECK(answer_as_text(ToolAction::skip, answer(ToolOutcome::already_sent), false) == "event order-7 was already sent");
  CHECK(answer_as_text(ToolAction::skip, answer(ToolOutcome::already_so), true) == "event order-7 is skipped already");
  CHECK(answer_as_text(ToolAction::park, answer(ToolOutcome::is_skipped), false) ==
        "event order-7 is skipped: retry it first");
  CHECK(answer_as_text(ToolAction::retry, answer(ToolOutcome::not_held_back), false) ==
        "event order-7 is neither parked nor skipped: nothing to retry");
  CHECK(answer_as_text(ToolAction::park, {.event_id = "\x1b[2J", .id = {}}, false) == "no event \\x1b[2J");
}

TEST_CASE("an answer as JSON is one line that holds whatever was typed") {
  CHECK(answer_as_json(ToolAction::park, answer(ToolOutcome::done), false) ==
        R"({"event_id":"order-7","id":7,"action":"park","dry_run":false,"outcome":"done"})");
  const auto unknown = nlohmann::json::parse(answer_as_json(ToolAction::skip, {.event_id = "\xff", .id = {}}, true));
  CHECK(unknown["event_id"] == nlohmann::json{{"base64", "/w=="}});
  CHECK(unknown["id"] == nullptr);
  CHECK(unknown["dry_run"] == true);
  CHECK(unknown["outcome"] == "not_found");
}

TEST_CASE("a choice is counted by what became of its rows") {
  ChoiceAnswer choice{.action = ToolAction::retry, .chosen = 4};
  for (const ToolOutcome outcome :
       {ToolOutcome::done, ToolOutcome::already_sent, ToolOutcome::changed_since, ToolOutcome::done}) {
    choice.add(outcome);
  }
  CHECK(choice.as_json() == R"({"action":"retry","chosen":4,"changed":2,"already_sent":1,"left":1})");
}

}  // namespace txbox::relay
