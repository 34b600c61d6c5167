#pragma once

#include <optional>
#include <string>
#include <vector>

#include <txbox/store/held_state.hpp>
#include <txbox/store/outbox_queries.hpp>
#include <txbox/store/outbox_tools.hpp>

namespace CLI {
class App;
}

namespace txbox::relay {

/// Which rows a person means on the command line of park, retry or skip: events by their ids, or a choice by filter.
struct RowSelection {
  std::vector<std::string> event_ids;
  std::optional<std::string> state;
  std::optional<std::string> topic;
  std::optional<std::string> key;
  bool all = false;

  [[nodiscard]] bool by_filter() const noexcept { return all || state || topic || key; }
};

/// Adds EVENT_ID..., --state, --topic, --key and --all. `selection` outlives the parse.
void add_selection_flags(CLI::App& command, store::ToolAction action, RowSelection& selection);

/// Empty when the flags fit together, else what is wrong and what to do.
[[nodiscard]] std::string selection_error(const RowSelection& selection);

/// The states whose rows the action can change, as --state takes them.
[[nodiscard]] std::vector<std::string> states_to_choose_from(store::ToolAction action);

/// The choice that a filter means. Without --state it is the harmless one: park takes what is not published yet, retry
/// and skip only what is parked. What nobody named by its state is neither given up nor brought back from that.
[[nodiscard]] store::RowChoice choice_of(store::ToolAction action, const RowSelection& selection);
/// The states of a choice as the store takes them.
[[nodiscard]] std::vector<store::HeldState> held_states(const store::RowChoice& choice);

/// Each id once, in the order given.
[[nodiscard]] std::vector<std::string> without_repeats(const std::vector<std::string>& event_ids);

}  // namespace txbox::relay
