#include "relay/cli/row_action.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <span>

#include <CLI/CLI.hpp>

#include <txbox/base/error.hpp>
#include <txbox/store/outbox_queries.hpp>

#include "relay/cli/confirm.hpp"
#include "relay/cli/help_examples.hpp"
#include "relay/cli/open_file.hpp"
#include "relay/cli/output.hpp"
#include "relay/cli/row_answer.hpp"
#include "relay/cli/row_selection.hpp"
#include "relay/cli/user_name.hpp"

namespace txbox::relay {

namespace {

using store::ToolAction;
using store::ToolOutcome;

/// Some ten milliseconds of write lock; between two of them the application's writers come in.
constexpr std::size_t kRowsPerTransaction = 2'000;

struct RowFlags {
  std::string db;
  RowSelection selection;
  bool dry_run = false;
  bool yes = false;
  bool json = false;
  std::string reason;
};

/// One run of a command over one file.
class RowRun {
 public:
  RowRun(ToolAction action, const RowFlags& flags)
      : action_(action), flags_(flags), connection_(open_for_changes(flags.db)), note_{user_name(), flags.reason} {}

  ExitCode on_named() {
    std::vector<RowAnswer> answers;
    std::vector<std::int64_t> ids;
    for (const std::string& event_id : without_repeats(flags_.selection.event_ids)) {
      const auto row = store::find_outbox_row(connection_.handle(), event_id);
      answers.emplace_back().event_id = event_id;
      if (!row) continue;
      answers.back().id = row->id;
      answers.back().outcome = store::foresee_tool(action_, row->state);
      ids.push_back(row->id);
    }
    if (!flags_.dry_run) {
      std::vector<ToolOutcome> outcomes;
      apply(ids, {}, [&](ToolOutcome outcome) { outcomes.push_back(outcome); });
      auto next = outcomes.begin();
      for (RowAnswer& answer : answers) {
        if (answer.id) answer.outcome = *next++;
      }
    }
    return report(answers);
  }

  ExitCode on_chosen() {
    const store::RowChoice choice = choice_of(action_, flags_.selection);
    const std::vector<std::int64_t> ids = store::choose_outbox_rows(connection_.handle(), choice);
    if (ids.empty()) {
      std::fprintf(stderr, "outbox-relay: no %s row of %s matches: nothing to %s\n", any_of(choice.states).c_str(),
                   flags_.db.c_str(), word().c_str());
      return ExitCode::check_failed;
    }
    if (flags_.dry_run) return list(ids);
    if (!flags_.yes && !confirm(word() + " " + rows(ids.size()) + " of " + flags_.db + "?", stdin, stderr)) {
      std::fputs("outbox-relay: nothing changed\n", stderr);
      return ExitCode::check_failed;
    }
    const std::vector<store::HeldState> states = held_states(choice);
    ChoiceAnswer answer{.action = action_, .chosen = ids.size()};
    apply(ids, states, [&](ToolOutcome outcome) { answer.add(outcome); });
    const std::string text =
        flags_.json ? answer.as_json() : flags_.db + ": " + rows(answer.changed) + " " + std::string(past(action_));
    std::printf("%s\n", text.c_str());
    if (answer.already_sent > 0) {
      std::fprintf(stderr, "outbox-relay: %s had been sent before their turn came\n",
                   rows(answer.already_sent).c_str());
    }
    if (answer.left > 0) {
      std::fprintf(stderr, "outbox-relay: %s had changed since they were chosen and were left alone\n",
                   rows(answer.left).c_str());
    }
    return answer.changed > 0 ? ExitCode::ok : ExitCode::check_failed;
  }

 private:
  [[nodiscard]] std::string word() const { return std::string(store::to_string(action_)); }

  static std::string rows(std::size_t count) { return std::to_string(count) + (count == 1 ? " row" : " rows"); }

  static std::string any_of(const std::vector<std::string>& states) {
    std::string text;
    for (const std::string& state : states) {
      if (!text.empty()) text += &state == &states.back() ? " or " : ", ";
      text += state;
    }
    return text;
  }

  template <typename Take>
  void apply(std::span<const std::int64_t> ids, std::span<const store::HeldState> states, const Take& take) {
    std::size_t done = 0;
    try {
      while (!ids.empty()) {
        const std::size_t count = std::min(ids.size(), kRowsPerTransaction);
        for (const ToolOutcome outcome : store::apply_tool(connection_, action_, ids.first(count), note_, states)) {
          if (outcome == ToolOutcome::done) ++done;
          take(outcome);
        }
        ids = ids.subspan(count);
      }
    } catch (const Error&) {
      if (done > 0) {
        std::fprintf(stderr, "outbox-relay: %s %s before this; run it again for the rest\n", rows(done).c_str(),
                     std::string(past(action_)).c_str());
      }
      throw;
    }
  }

  ExitCode list(const std::vector<std::int64_t>& ids) {
    if (!flags_.json) std::fputs(list_title().c_str(), stdout);
    store::list_outbox_rows(connection_.handle(), ids, false, [this](const store::StatusRow& row) {
      const std::string line = flags_.json ? row_as_json(row, false, false) + "\n" : row_as_line(row);
      std::fputs(line.c_str(), stdout);
    });
    std::fprintf(stderr, "outbox-relay: %s would be %s\n", rows(ids.size()).c_str(),
                 std::string(past(action_)).c_str());
    return ExitCode::ok;
  }

  ExitCode report(const std::vector<RowAnswer>& answers) {
    ExitCode verdict = ExitCode::ok;
    for (const RowAnswer& answer : answers) {
      const bool done = answer.outcome == ToolOutcome::done;
      if (flags_.json) {
        std::printf("%s\n", answer_as_json(action_, answer, flags_.dry_run).c_str());
      } else if (done) {
        std::printf("%s\n", answer_as_text(action_, answer, flags_.dry_run).c_str());
      }
      if (done) continue;
      const bool unknown = answer.outcome == ToolOutcome::not_found;
      const std::string words = answer_as_text(action_, answer, flags_.dry_run);
      std::fprintf(stderr, "outbox-relay: %s%s\n", words.c_str(), unknown ? (" in " + flags_.db).c_str() : "");
      if (unknown) verdict = ExitCode::failure;
      if (verdict == ExitCode::ok) verdict = ExitCode::check_failed;
    }
    return verdict;
  }

  ToolAction action_;
  const RowFlags& flags_;
  store::Connection connection_;
  store::AuditNote note_;
};

ExitCode act(ToolAction action, const RowFlags& flags) {
  if (const std::string error = selection_error(flags.selection); !error.empty()) {
    throw Error(ErrorCode::invalid_argument, error);
  }
  if (flags.selection.by_filter() && !flags.yes && !flags.dry_run && !can_ask()) {
    throw Error(ErrorCode::invalid_argument, std::string(store::to_string(action)) +
                                                 " by filter may change many rows and nobody can be asked here: add "
                                                 "--yes, or look first with --dry-run");
  }
  RowRun run(action, flags);
  return flags.selection.by_filter() ? run.on_chosen() : run.on_named();
}

}  // namespace

void add_row_command(CLI::App& app, Action& chosen, const RowCommand& row_command) {
  auto flags = std::make_shared<RowFlags>();
  CLI::App* command = app.add_subcommand(row_command.name, row_command.description);
  show_examples(*command, row_command.examples);
  command->add_option("--db", flags->db, "The database file")->required()->envname("OUTBOX_RELAY_DB");
  add_selection_flags(*command, row_command.action, flags->selection);
  command->add_flag("--dry-run", flags->dry_run, "Show what would change, and change nothing");
  command->add_flag("--yes", flags->yes, "Do not ask before a choice by filter is carried out");
  command->add_option("--reason", flags->reason, "Why, for the audit; put no key and no payload there");
  command->add_flag("--json", flags->json,
                    "One JSON object for each event named, for each row that --dry-run shows, or for the whole choice");
  command->callback(
      [flags, &chosen, action = row_command.action] { chosen = [flags, action] { return act(action, *flags); }; });
}

}  // namespace txbox::relay
