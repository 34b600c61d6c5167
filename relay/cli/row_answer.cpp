#include "relay/cli/row_answer.hpp"

#include <nlohmann/json.hpp>

#include <txbox/base/base64.hpp>
#include <txbox/base/utf8.hpp>

#include "relay/cli/output.hpp"

namespace txbox::relay {

namespace {

using Json = nlohmann::ordered_json;
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
  const std::string event = "event " + printable(answer.event_id);
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
  const Json json{
      {"event_id",
       base::is_utf8(answer.event_id) ? Json(answer.event_id) : Json{{"base64", base::base64_encode(answer.event_id)}}},
      {"id", answer.id ? Json(*answer.id) : Json(nullptr)},
      {"action", store::to_string(action)},
      {"dry_run", dry_run},
      {"outcome", outcome_word(answer.outcome)},
  };
  return json.dump();
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
  const Json json{
      {"action", store::to_string(action)}, {"chosen", chosen}, {"changed", changed},
      {"already_sent", already_sent},       {"left", left},
  };
  return json.dump();
}

}  // namespace txbox::relay
