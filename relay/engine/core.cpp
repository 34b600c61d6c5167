#include "relay/engine/core.hpp"

#include <algorithm>
#include <type_traits>

#include <txbox/base/check.hpp>

#include "relay/engine/core_state.hpp"

namespace txbox::relay {

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
  for (const DatabaseIndex index : awake) {
    if (!everything_marked(*databases[index])) return;
  }
  if (in_flight_rows > 0 && !deadline_passed) return;
  stopped = true;
  out->other.emplace_back(command::Stopped{});
}

void Core::State::finish_step() {
  watch_outage();
  watch_partitions();
  watch_clock();
  wake_due();
  for (const DatabaseIndex index : awake) {
    Database& db = *databases[index];
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
  schedule_prune();
  let_sleep();
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
        if constexpr (requires { what.database; }) {
          // Answers may come after the end of their file.
          if (!std::is_same_v<What, event::DatabaseOpened> && !state.knows(what.database)) return;
        }
        if constexpr (std::is_same_v<What, event::DatabaseOpened>) state.on_opened(what);
        if constexpr (std::is_same_v<What, event::HeldUnchanged>) state.on_held_unchanged(what);
        if constexpr (std::is_same_v<What, event::Woken>) state.on_woken(what);
        if constexpr (std::is_same_v<What, event::RowsRead>) state.on_rows(what);
        if constexpr (std::is_same_v<What, event::ReadyRead>) state.on_ready(what);
        if constexpr (std::is_same_v<What, event::Reports>) state.on_reports(what.reports);
        if constexpr (std::is_same_v<What, event::ProducerReady>) state.on_producer_ready(what);
        if constexpr (std::is_same_v<What, event::TopicDescribed>) state.on_described(what);
        if constexpr (std::is_same_v<What, event::ConnectionEnded>) state.on_connection_ended(what);
        if constexpr (std::is_same_v<What, event::Marked>) state.on_marked(what);
        if constexpr (std::is_same_v<What, event::Released>) state.on_released(what);
        if constexpr (std::is_same_v<What, event::Pruned>) state.on_pruned(what);
        if constexpr (std::is_same_v<What, event::RetentionPolicy>) state.on_retention(what);
        if constexpr (std::is_same_v<What, event::RefusalPolicy>) state.options.on_refusal = what.on_refusal;
        if constexpr (std::is_same_v<What, event::DatabaseClosed>) state.on_closed(what.database);
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
  status.in_flight_bytes = state.totals.in_flight_bytes;
  status.sent = state.sent;
  status.possible_duplicates = state.possible_duplicates;
  status.producer_rebuilds = state.producer_rebuilds;
  status.pruned = state.retention.rows();
  status.outage = state.outage;
  for (const std::optional<Database>& db : state.databases) {
    status.settled_through.push_back(db ? db->settled_confirmed : 0);
    if (!db) continue;
    status.acknowledged_unmarked += static_cast<std::int64_t>(db->receipts.size());
    if (state.ready_pending(*db)) status.ready_pending = true;
  }
  return status;
}

bool Core::settled(DatabaseIndex database, std::int64_t id) const {
  if (!state_->knows(database)) return true;
  const Database& db = *state_->databases[database];
  return db.settled_confirmed >= id && !state_->ready_pending(db);
}

}  // namespace txbox::relay
