#include "relay/cli/row_selection.hpp"

#include <set>

#include <CLI/CLI.hpp>

namespace txbox::relay {

namespace {

std::vector<std::string> states_without_flag(store::ToolAction action) {
  if (action == store::ToolAction::park) return states_to_choose_from(action);
  return {"parked"};
}

}  // namespace

void add_selection_flags(CLI::App& command, store::ToolAction action, RowSelection& selection) {
  command.add_option("EVENT_ID", selection.event_ids, "Events by their ids, as `ls` shows them");
  const std::string otherwise = action == store::ToolAction::park ? "all of these" : "parked";
  command.add_option("--state", selection.state, "Rows in this state (without it: " + otherwise + ")")
      ->check(CLI::IsMember(states_to_choose_from(action)));
  command.add_option("--topic", selection.topic, "Rows of this topic");
  command.add_option("--key", selection.key, "Rows with this key");
  command.add_flag("--all", selection.all, "Rows of every topic and key");
}

std::string selection_error(const RowSelection& selection) {
  if (selection.event_ids.empty() && !selection.by_filter()) {
    return "name events by EVENT_ID, or choose rows by --state, --topic, --key or --all";
  }
  if (!selection.event_ids.empty() && selection.by_filter()) {
    return "EVENT_ID and --state, --topic, --key, --all are two ways to choose rows: use one of them";
  }
  if (selection.all && (selection.topic || selection.key)) {
    return "--all means every topic and key: leave it out beside --topic and --key";
  }
  return {};
}

std::vector<std::string> states_to_choose_from(store::ToolAction action) {
  switch (action) {
    case store::ToolAction::park: return {"ready", "scheduled", "blocked", "waiting"};
    case store::ToolAction::retry: return {"parked", "skipped"};
    case store::ToolAction::skip: return {"parked", "blocked", "waiting", "scheduled", "ready"};
  }
  return {};
}

store::RowChoice choice_of(store::ToolAction action, const RowSelection& selection) {
  store::RowChoice choice;
  choice.states = selection.state ? std::vector{*selection.state} : states_without_flag(action);
  choice.topic = selection.topic;
  choice.key = selection.key;
  return choice;
}

std::vector<store::HeldState> held_states(const store::RowChoice& choice) {
  std::vector<store::HeldState> states;
  for (const std::string& word : choice.states) {
    if (const auto state = store::held_state_from(word)) states.push_back(*state);
  }
  return states;
}

std::vector<std::string> without_repeats(const std::vector<std::string>& event_ids) {
  std::set<std::string> seen;
  std::vector<std::string> once;
  for (const std::string& event_id : event_ids) {
    if (seen.insert(event_id).second) once.push_back(event_id);
  }
  return once;
}

}  // namespace txbox::relay
