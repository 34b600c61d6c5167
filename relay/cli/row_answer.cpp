#include "relay/cli/row_answer.hpp"

#include "relay/cli/json_object.hpp"
#include "relay/cli/output.hpp"

namespace txbox::relay {

namespace {

using store::ToolAction;
using store::ToolOutcome;

std::string_view outcome_word(ToolOutcome outcome) noexcept {
  switch (outcome) {
    case ToolOutcome::done: return "done";
    case ToolOutcome::not_found: return "not_found";
    case ToolOutcome::already_sent: return "already_sent";
    case ToolOutcome::already_so: return "already_so";
    case ToolOutcome::is_skipped: return "is_skipped";
    case ToolOutcome::not_held_back: return "not_held_back";
    case ToolOutcome::changed_since: return "changed_since";
  }
  return "";
}

}  // namespace

std::string_view past(ToolAction action) noexcept {
  switch (action) {
    case ToolAction::park: return "parked";
    case ToolAction::retry: return "retried";
    case ToolAction::skip: return "skipped";
  }
  return "";
}

std::string answer_as_text(ToolAction action, const RowAnswer& answer, bool dry_run) {
  std::string event = "event " + printable(answer.event_id);
  const std::string done(past(action));
  switch (answer.outcome) {
    case ToolOutcome::done: return event + (dry_run ? " would be " : " ") + done;
    case ToolOutcome::not_found: return "no " + event;
    case ToolOutcome::already_so: return event + " is " + done + " already";
    case ToolOutcome::already_sent:
    case ToolOutcome::is_skipped:
    case ToolOutcome::not_held_back:
    case ToolOutcome::changed_since: return event + " " + std::string(store::to_string(answer.outcome));
  }
  return event;
}

std::string answer_as_json(ToolAction action, const RowAnswer& answer, bool dry_run) {
  JsonObject json;
  json.text("event_id", answer.event_id)
      .number("id", answer.id)
      .text("action", store::to_string(action))
      .truth("dry_run", dry_run)
      .text("outcome", outcome_word(answer.outcome));
  return json.str();
}

void ChoiceAnswer::add(ToolOutcome outcome) noexcept {
  if (outcome == ToolOutcome::done) {
    ++changed;
  } else if (outcome == ToolOutcome::already_sent) {
    ++already_sent;
  } else {
    ++left;
  }
}

std::string ChoiceAnswer::as_json() const {
  JsonObject json;
  json.text("action", store::to_string(action))
      .number("chosen", static_cast<std::int64_t>(chosen))
      .number("changed", static_cast<std::int64_t>(changed))
      .number("already_sent", static_cast<std::int64_t>(already_sent))
      .number("left", static_cast<std::int64_t>(left));
  return json.str();
}

}  // namespace txbox::relay
