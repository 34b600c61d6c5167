// What the loop shows of itself: once a second a copy for whoever serves it, and nothing where nobody does.

#include "relay/engine/runner_state.hpp"

#include <chrono>
#include <string_view>
#include <unordered_set>

#include <txbox/store/outbox_queries.hpp>

namespace txbox::relay {

namespace {

using namespace std::chrono_literals;

// Counting takes a fraction of a millisecond a file. What is left of them has its turn a second later.
constexpr auto kCountingAtOnce = 5ms;
// A client repeats what it cannot do at least every 30 s.
constexpr auto kTroubleOver = 90s;

FileFigures::Role role_of(const ServedFile& file) noexcept {
  switch (file.phase) {
    case ServedFile::Phase::serving: return FileFigures::Role::active;
    case ServedFile::Phase::waiting: return file.standby ? FileFigures::Role::standby : FileFigures::Role::waiting;
    case ServedFile::Phase::leaving:
    case ServedFile::Phase::ended: return FileFigures::Role::ended;
  }
  return FileFigures::Role::ended;
}

}  // namespace

void Runner::State::count_rows() {
  const SteadyTime until = now() + kCountingAtOnce;
  for (std::size_t step = 0; step < files.size() && now() < until; ++step) {
    const DatabaseIndex index = next_counted++ % static_cast<DatabaseIndex>(files.size());
    RowCount& rows = files[index]->row_count;
    const SteadyTime began = now();
    if (!is_served(index) || !rows.is_due(began)) continue;
    for_file(index, [&] {
      try {
        // What counting reads of the schema is given back with the rest.
        static_cast<void>(database(index).reader());
        note_awake(index);
        const store::OutboxCounts counts = store::count_outbox(database(index).handle());
        rows.counted(began, now(), counts);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::busy) throw;
        rows.put_off(began, now());
      }
    });
  }
}

/// To be called before newer errors are taken: acknowledgements that came before one say nothing against it.
void Runner::State::note_answers() {
  const std::int64_t sent = core.status().sent;
  kafka::ConnectionTally tally = kafka.connection_tally();
  const kafka::ConnectionTally asking = describer.connection_tally();
  tally.made += asking.made;
  tally.failed += asking.failed;
  if (tally.last_failed.empty()) tally.last_failed = asking.last_failed;
  if (sent != sent_before || tally.made > tally_before.made) {
    connected = true;
    answered_at = now();
  }
  if (tally.failed > tally_before.failed) note_connection_failed(tally.last_failed);
  sent_before = sent;
  // A producer that was replaced takes its numbers with it.
  tally_before = tally;
}

/// Nothing tells that a trouble is over, but for what goes well after it.
void Runner::State::watch_trouble() {
  if (!trouble_seen) return;
  const SteadyTime time = now();
  if (answered_at > trouble_seen->heard || time - trouble_seen->heard > kTroubleOver) trouble_seen.reset();
}

void Runner::State::note_trouble(const kafka::ClientError& error) {
  const BrokerTrouble kind = trouble_of(error);
  const bool same = trouble_seen && trouble_seen->figures.kind == kind;
  const WallTime since = same ? trouble_seen->figures.since : system_clock().wall_now();
  trouble_seen = TroubleSeen{{kind, trouble_text(error), since}, now()};
}

/// An idle client says nothing else, and repeats no error.
void Runner::State::note_connection_failed(const std::string& broker) {
  if (trouble_seen) {
    trouble_seen->heard = now();
    return;
  }
  const std::string text = "Kafka cannot be reached: " + broker + "; tried again until it works";
  trouble_seen = TroubleSeen{{BrokerTrouble::unreachable, text, system_clock().wall_now()}, now()};
}

FileFigures Runner::State::file_figures(DatabaseIndex index) const {
  const ServedFile& file = *files[index];
  FileFigures figures;
  figures.db = file.path;
  figures.role = role_of(file);
  figures.by_pattern = file.by_pattern;
  if (figures.role == FileFigures::Role::ended) figures.reason = file.why_ended;
  if (file.phase == ServedFile::Phase::waiting) figures.reason = file.told;
  figures.last_mark = file.last_mark;
  figures.pruned = file.pruned;
  figures.last_prune = file.last_prune;
  if (file.phase != ServedFile::Phase::serving) return figures;
  figures.counts = file.row_count.counts();
  figures.counted = core.figures_of(index);
  figures.wal_bytes = file.wal.bytes;
  if (file.wal.pinned_since) {
    const auto pinned_for = std::chrono::duration_cast<WallTime::duration>(now() - *file.wal.pinned_since);
    figures.wal_pinned_since = system_clock().wall_now() - pinned_for;
  }
  return figures;
}

std::vector<FileFigures> Runner::State::all_file_figures() const {
  std::vector<FileFigures> all;
  all.reserve(files.size());
  // One path is one line, whatever became of files that had it before.
  std::unordered_set<std::string_view> paths;
  for (const bool ended : {false, true}) {
    for (std::size_t index = 0; index < files.size(); ++index) {
      const ServedFile& file = *files[index];
      if ((role_of(file) == FileFigures::Role::ended) != ended) continue;
      // What went away is not there to be looked at; what is in doubt is.
      if (ended && file.why_ended.empty()) continue;
      if (paths.insert(file.path).second) all.push_back(file_figures(static_cast<DatabaseIndex>(index)));
    }
  }
  return all;
}

void Runner::State::show_figures() {
  if (!options.board) return;
  count_rows();
  auto figures = std::make_shared<RelayFigures>();
  figures->taken_at = system_clock().wall_now();
  figures->connected = connected || !cluster_id.empty();
  figures->stopping = stopping || stopped;
  figures->files = all_file_figures();
  const CoreStatus status = core.status();
  figures->published = status.sent;
  figures->in_flight_rows = status.in_flight_rows;
  figures->in_flight_bytes = status.in_flight_bytes;
  figures->producer_rebuilds = status.producer_rebuilds;
  figures->outage = status.outage;
  if (trouble_seen) figures->trouble = trouble_seen->figures;
  figures->counted = core.figures();
  figures->lock_wait = worker.lock_wait();
  options.board->put(std::move(figures));
}

}  // namespace txbox::relay
