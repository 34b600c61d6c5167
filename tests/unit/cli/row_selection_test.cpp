#include "relay/cli/row_selection.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <CLI/CLI.hpp>

namespace txbox::relay {

using store::HeldState;
using store::ToolAction;

namespace {

constexpr ToolAction kActions[] = {ToolAction::park, ToolAction::retry, ToolAction::skip};

/// The selection that the words make; throws what the parser throws.
RowSelection parsed(ToolAction action, std::vector<std::string> words) {
  CLI::App app;
  RowSelection selection;
  add_selection_flags(app, action, selection);
  std::reverse(words.begin(), words.end());
  app.parse(words);
  return selection;
}

}  // namespace

TEST_CASE("events are named by their ids, each counted once") {
  const RowSelection selection = parsed(ToolAction::park, {"b", "a", "b"});
  CHECK_FALSE(selection.by_filter());
  CHECK(selection_error(selection).empty());
  CHECK(without_repeats(selection.event_ids) == std::vector<std::string>{"b", "a"});
}

TEST_CASE("rows are chosen by state, topic and key together, an empty key included") {
  const RowSelection selection = parsed(ToolAction::retry, {"--state", "skipped", "--topic", "orders", "--key", ""});
  CHECK(selection.by_filter());
  CHECK(selection_error(selection).empty());
  const store::RowChoice choice = choice_of(ToolAction::retry, selection);
  CHECK(choice.states == std::vector<std::string>{"skipped"});
  CHECK(choice.topic == "orders");
  CHECK(choice.key == "");
}

TEST_CASE("nothing chosen, and two ways to choose at once, are refused with what to do") {
  for (const ToolAction action : kActions) {
    CHECK(selection_error(parsed(action, {})).find("--all") != std::string::npos);
    CHECK(selection_error(parsed(action, {"id", "--all"})).find("EVENT_ID") != std::string::npos);
    CHECK(selection_error(parsed(action, {"id", "--key", ""})).find("EVENT_ID") != std::string::npos);
    CHECK(selection_error(parsed(action, {"--all", "--topic", "orders"})).find("--topic") != std::string::npos);
    CHECK(selection_error(parsed(action, {"--all"})).empty());
  }
  CHECK(selection_error(parsed(ToolAction::retry, {"--all", "--state", "skipped"})).empty());
}

TEST_CASE("a state whose rows the action cannot change is refused") {
  for (const ToolAction action : kActions) {
    CHECK_THROWS_AS(parsed(action, {"--state", "sent"}), CLI::ValidationError);
    CHECK_THROWS_AS(parsed(action, {"--state", "lost"}), CLI::ValidationError);
    for (const std::string& state : states_to_choose_from(action)) {
      CHECK(store::foresee_tool(action, state) == store::ToolOutcome::done);
      CHECK(choice_of(action, parsed(action, {"--state", state})).states == std::vector{state});
    }
  }
}

TEST_CASE("a choice without a state gives nothing up and brings nothing back that nobody named") {
  const auto states = [](ToolAction action) { return held_states(choice_of(action, parsed(action, {"--all"}))); };
  CHECK(states(ToolAction::park) ==
        std::vector{HeldState::ready, HeldState::scheduled, HeldState::blocked, HeldState::waiting});
  CHECK(states(ToolAction::retry) == std::vector{HeldState::parked});
  CHECK(states(ToolAction::skip) == std::vector{HeldState::parked});
}

}  // namespace txbox::relay
