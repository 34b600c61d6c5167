#include "relay/engine/core.hpp"

#include <algorithm>
#include <type_traits>

#include <txbox/base/check.hpp>

#include "relay/engine/core_state.hpp"

namespace txbox::relay {

Database& Core::State::database(DatabaseIndex index) {
  while (databases.size() <= index) {
    const auto next = static_cast<DatabaseIndex>(databases.size());
    databases.emplace_back().index = next;
  }
  return databases[index];
}

void Core::State::watch_outage() {
  if (handed_rows == 0 || now - progress_at < options.outage_after) {
    if (outage) say(1, "Kafka acknowledges again");
    outage = false;
    return;
  }
  // The silence about rows on probation is about those rows.
  if (outage || guard(ProducerKind::main).in_flight == 0) return;
  outage = true;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - progress_at).count();
  say(2, "no acknowledgement for " + std::to_string(seconds) + " s with " + std::to_string(handed_rows) +
             " rows handed over: reading pauses until Kafka answers");
}

void Core::State::finish_stop() {
  for (Database& db : databases) {
    if (!everything_marked(db)) return;
  }
  if (in_flight_rows > 0 && !deadline_passed) return;
  stopped = true;
  out->other.emplace_back(command::Stopped{});
}

void Core::State::finish_step() {
  watch_outage();
  for (Database& db : databases) {
    apply_rewind(db);
    schedule_marks(db);
    if (stopping || !db.opened) continue;
    schedule_releases(db);
    schedule_reload(db);
  }
  if (stopping) {
    finish_stop();
    return;
  }
  schedule_reads();
  topics.ask(now, *out);
}

Core::Core(const CoreOptions& options, Partitioner partitioner, ErrorText error_text)
    : state_(std::make_unique<State>(options, partitioner, error_text)) {
  TXBOX_CHECK(options.window_rows > 0 && options.window_bytes > 0 && options.mark_rows > 0 && options.read.rows > 0);
}

Core::~Core() = default;

void Core::step(SteadyTime steady, WallTime wall, const Event& event, Commands& out) {
  State& state = *state_;
  if (state.stopped) return;
  state.now = steady;
  state.wall = wall;
  state.out = &out;
  ++state.step_number;
  std::visit(
      [&state](const auto& what) {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, event::DatabaseOpened>) state.on_opened(what);
        if constexpr (std::is_same_v<What, event::Woken>) state.on_woken(what);
        if constexpr (std::is_same_v<What, event::RowsRead>) state.on_rows(what);
        if constexpr (std::is_same_v<What, event::ReadyRead>) state.on_ready(what);
        if constexpr (std::is_same_v<What, event::Reports>) state.on_reports(what.reports);
        if constexpr (std::is_same_v<What, event::ProducerReady>) state.on_producer_ready(what);
        if constexpr (std::is_same_v<What, event::TopicDescribed>) state.on_described(what);
        if constexpr (std::is_same_v<What, event::ConnectionEnded>) state.on_connection_ended(what);
        if constexpr (std::is_same_v<What, event::Marked>) state.on_marked(what);
        if constexpr (std::is_same_v<What, event::Released>) state.on_released(what);
        if constexpr (std::is_same_v<What, event::RefusalPolicy>) state.options.on_refusal = what.on_refusal;
        if constexpr (std::is_same_v<What, event::StopRequested>) state.stopping = true;
        if constexpr (std::is_same_v<What, event::StopDeadline>) state.stopping = state.deadline_passed = true;
      },
      event);
  state.finish_step();
}

SteadyTime Core::next_tick() const { return state_->next_tick(); }

CoreStatus Core::status() const {
  const State& state = *state_;
  CoreStatus status;
  status.in_flight_rows = state.in_flight_rows;
  status.in_flight_bytes = state.in_flight_bytes;
  status.sent = state.sent;
  status.possible_duplicates = state.possible_duplicates;
  status.producer_rebuilds = state.producer_rebuilds;
  status.outage = state.outage;
  for (const Database& db : state.databases) {
    status.acknowledged_unmarked += static_cast<std::int64_t>(db.receipts.size());
    status.settled_through.push_back(db.settled_confirmed);
    const bool due = db.next_due_ms && *db.next_due_ms <= to_ms(state.wall);
    const bool passing = !db.ready.empty() || db.pass_wanted || db.reading == Reading::ready;
    if (!db.opened || passing || !db.releases.empty() || db.releasing || due) status.ready_pending = true;
  }
  return status;
}

}  // namespace txbox::relay
