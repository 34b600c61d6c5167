#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <txbox/base/clock.hpp>
#include <txbox/store/outbox_marker.hpp>
#include <txbox/store/outbox_prune.hpp>
#include <txbox/store/outbox_reader.hpp>

#include "relay/engine/core_figures.hpp"

namespace txbox::relay {

/// The relay's decisions, without threads, I/O or now(): `core.step(now, event, commands)`. The production loop
/// (runner.hpp) and the simulator drive the same class. docs/architecture.md has the state machines.

using DatabaseIndex = std::uint32_t;
/// Two producers, both there with generation 0 from the start: `main` for almost everything, `probation` (one record a
/// batch) for the lanes of suspects, so that a refusal names its row while the others flow on. A lane is in exactly
/// one; it moves only when each of its rows has a final report.
enum class ProducerKind : std::uint8_t { main, probation };
enum class OnRefusal : std::uint8_t { block, skip };
/// How long rows are kept; not set: for ever.
struct KeepLimits {
  std::optional<std::chrono::milliseconds> sent;     ///< After Kafka acknowledged them.
  std::optional<std::chrono::milliseconds> skipped;  ///< After they were written.
  friend bool operator==(const KeepLimits&, const KeepLimits&) = default;
};

/// A delivery report or a failed produce(), as the runner classified it: status before code.
enum class ReportKind : std::uint8_t {
  sent,            ///< No error, or PERSISTED.
  record_refused,  ///< A permanent code of the record or its batch, NOT persisted.
  topic_refused,   ///< Missing topic or partition, authorization.
  unknown,         ///< Everything else; possibly persisted; sent again; costs no attempt.
};

struct TopicFacts {
  enum class State : std::uint8_t { usable, missing, denied, unreachable };
  State state = State::usable;
  std::int32_t partitions = 0;
  std::int64_t message_bytes_max = 0;    ///< 0: not told (no right to describe, or too late); what was known stays.
  bool compacted = false;                ///< Told together with the limit.
  std::string reason = {};               ///< Kafka's error name and text where not usable.
  std::int32_t min_insync_replicas = 0;  ///< 0: not told, likewise.
  struct Replicas {
    std::int32_t in_sync = 0;  ///< 0: it has no leader.
    std::int32_t assigned = 0;
  };
  std::vector<Replicas> by_partition = {};  ///< Empty: not told.
  std::string remedy = {};  ///< What a person can do about it, where it is known: how a missing one is made.
};

namespace event {
/// Comes first, and again when tools may have changed outbox_held (data_version moved while lanes are closed).
struct DatabaseOpened {
  DatabaseIndex database = 0;
  store::Progress progress;
  std::vector<store::LaneLoad> held_lanes;
  std::optional<std::int64_t> next_due_ms;  ///< OutboxReader::next_due_ms().
  std::vector<std::string> waiting_topics;  ///< OutboxReader::waiting_topics(); at the first opening only.
};
/// Answer to command::Reload that asks only after what people did: nothing.
struct HeldUnchanged {
  DatabaseIndex database = 0;
};
/// Something may have been committed (inotify, data_version) or the floor timer passed.
struct Woken {
  DatabaseIndex database = 0;
  bool changed_by_others = false;
};
/// Answer to command::Read, with the command's `after`. The rows are durable (barriered). Views live only during
/// step().
struct RowsRead {
  DatabaseIndex database = 0;
  std::int64_t after = 0;
  std::span<const store::OutboxRow> rows;
  bool exhausted = false;
  std::int64_t newest_id = 0;
};
/// Answer to command::ReadReady.
struct ReadyRead {
  DatabaseIndex database = 0;
  std::int64_t after = 0;
  std::span<const store::OutboxRow> rows;
  bool exhausted = false;
};
struct Report {
  DatabaseIndex database = 0;
  std::int64_t row = 0;
  ProducerKind producer = ProducerKind::main;
  std::uint32_t generation = 0;  ///< Of the producer that was given the row; reports of older ones count as well.
  ReportKind kind = ReportKind::unknown;
  int error = 0;  ///< rd_kafka_resp_err_t, for texts only.
  std::int32_t partition = -1;
  std::int64_t offset = -1;
};
/// Reports in the order in which the producers gave them. A failed produce() is a report too, and the caller hands
/// nothing more to that producer: the rest of its Produce commands of this step are dropped (no report needed,
/// ProducerReady settles them). _QUEUE_FULL is no failure: serve reports and try again.
struct Reports {
  std::span<const Report> reports;
};
/// The producer was purged, its reports served, it was destroyed and made anew with `topics` added.
struct ProducerReady {
  ProducerKind producer = ProducerKind::main;
  std::uint32_t generation = 0;
};
struct TopicDescribed {
  std::string topic;
  TopicFacts facts;
};
/// A connection of a producer ended soon after it was made, or could not be made (kafka::ConnectionEnd).
struct ConnectionEnded {
  ProducerKind producer = ProducerKind::main;
  std::string broker;
  bool came_up = false;
};
/// Answer to command::Mark, in the order of the commands. The runner repeats a marking that failed by itself.
struct Marked {
  DatabaseIndex database = 0;
  std::uint64_t mark = 0;
  store::MarkResult result;
};
/// Answer to command::Release*; `more`: as many rows as one transaction takes were released, others may be left.
/// After ReleaseDue `next_due_ms` says when the next scheduled row is due, after ReleaseTopic `through` how far it
/// came.
struct Released {
  DatabaseIndex database = 0;
  std::int64_t rows = 0;
  bool more = false;
  std::optional<std::int64_t> next_due_ms;
  std::int64_t through = 0;
};
/// Answer to command::Prune.
struct Pruned {
  DatabaseIndex database = 0;
  store::PruneStep step;
  std::chrono::microseconds took{0};  ///< The whole of it, with the wait for the write lock.
  bool put_off = false;               ///< The lock was not free, or the disk is full: nothing was done.
};
/// The file stopped (it vanished, or is in doubt): nothing of it goes on, its rows in flight count no more, and answers
/// that still come are passed over. The index may be opened anew once nothing of its rows is in a producer.
struct DatabaseClosed {
  DatabaseIndex database = 0;
};
struct Tick {};
/// Stop reading; finish what is in flight, mark, then command::Stopped.
struct StopRequested {};
/// Of rows that are refused from here on; a key that is blocked already stays so until a person decides.
struct RefusalPolicy {
  OnRefusal on_refusal = OnRefusal::block;
};
/// From here on.
struct RetentionPolicy {
  KeepLimits keep;
};
/// The grace time is over: command::Stopped follows the marks that are under way.
struct StopDeadline {};
}  // namespace event

using Event = std::variant<event::DatabaseOpened, event::HeldUnchanged, event::Woken, event::RowsRead, event::ReadyRead,
                           event::Reports, event::ProducerReady, event::TopicDescribed, event::ConnectionEnded,
                           event::Marked, event::Released, event::Pruned, event::DatabaseClosed, event::Tick,
                           event::RefusalPolicy, event::RetentionPolicy, event::StopRequested, event::StopDeadline>;

namespace command {
/// Read rows above `after`; at most one Read or ReadReady of a database is outstanding.
struct Read {
  DatabaseIndex database = 0;
  std::int64_t after = 0;
  store::ReadLimits limits;
};
/// Always from the lowest id on (`after` is 0): a pass over the ready rows is one reading, or rows that became ready
/// below it in the meantime would be overtaken.
struct ReadReady {
  DatabaseIndex database = 0;
  std::int64_t after = 0;
  std::int64_t scanned_through = 0;
  store::ReadLimits limits;
};
/// Reload event::DatabaseOpened (progress and held lanes) from SQL, which walks over all that is held.
struct Reload {
  DatabaseIndex database = 0;
  bool only_after_deeds = false;  ///< Unless no person did anything since the last: event::HeldUnchanged then.
};
/// Hand rows.at(row_index) of the batch in this step's event to a producer. Comes in the order to be kept.
struct Produce {
  DatabaseIndex database = 0;
  std::uint32_t row_index = 0;
  ProducerKind producer = ProducerKind::main;
  std::uint32_t generation = 0;
  std::int32_t partition = 0;
};
struct Rebuild {
  ProducerKind producer = ProducerKind::main;
  std::uint32_t next_generation = 0;
  std::chrono::milliseconds wait{0};
  unsigned batch_halvings = 0;  ///< So often the size of the main producer's batches is to be halved.
};
struct Describe {
  std::vector<std::string> topics;
};
struct Mark {
  DatabaseIndex database = 0;
  std::uint64_t mark = 0;
  std::vector<store::Receipt> receipts;  ///< sent_at_ms is filled from `now` of the step that saw the report.
  std::vector<store::Hold> holds;
  std::int64_t settled_through = 0;
  std::vector<store::Lane> lanes;
};
struct ReleaseDue {
  DatabaseIndex database = 0;
};
/// Rows above `after` only: a walk over the waiting rows passes each of them once, whatever becomes of them.
struct ReleaseTopic {
  DatabaseIndex database = 0;
  std::string topic;
  std::int64_t after = 0;
};
struct ReleaseLane {
  DatabaseIndex database = 0;
  store::Lane lane = 0;
};
/// One step of retention; of all databases one is outstanding at most.
struct Prune {
  DatabaseIndex database = 0;
  store::PruneLimits limits;
};
/// Words for a person: level, and a text without key or payload.
struct Say {
  int level = 1;
  std::string text;
  /// The file of a row that was parked: many may follow, of which the first one is enough.
  std::optional<DatabaseIndex> parked_in = {};
};
struct Stopped {};
}  // namespace command

using Command = std::variant<command::Read, command::ReadReady, command::Reload, command::Rebuild, command::Describe,
                             command::Mark, command::ReleaseDue, command::ReleaseTopic, command::ReleaseLane,
                             command::Prune, command::Say, command::Stopped>;

/// What one step asks for. Produces are kept apart (there are many) and are carried out first, in order.
struct Commands {
  std::vector<command::Produce> produce;
  std::vector<Command> other;
  void clear() {
    produce.clear();
    other.clear();
  }
};

struct CoreOptions {
  /// Rows read and not yet marked, per process. Beside others a database may have half of them, and one of which
  /// nothing is under way its first few (a sixteenth of the window, at most 64) beyond: a backlog starves nobody.
  std::int64_t window_rows = 20'000;
  /// Bytes handed to producers and not yet reported; shared likewise.
  std::int64_t window_bytes = 16 << 20;
  store::ReadLimits read;
  std::int64_t mark_rows = 2'000;               ///< Mark when so many are acknowledged ...
  std::chrono::milliseconds mark_interval{25};  ///< ... or the oldest acknowledgement is so old (20-50 ms).
  /// Read at least so often, whatever the wakes say; less often beside more than 50 databases.
  std::chrono::milliseconds floor_interval{1000};
  std::chrono::milliseconds topic_refresh{60'000};
  std::chrono::milliseconds outage_after{
      15'000};  ///< No acknowledgement for so long while rows are in flight: an outage; reading pauses.
  OnRefusal on_refusal = OnRefusal::block;
  KeepLimits keep;
  std::uint64_t seed = 0;  ///< Spreads rows without a key over partitions.
  bool measure = false;    ///< Count what figures() and figures_of() tell.
};

/// partition_for_key of libkafka: given, so that the core needs no librdkafka.
using Partitioner = std::int32_t (*)(std::string_view key, std::int32_t partition_count);
/// describe() of libkafka: Kafka's name and text of an rd_kafka_resp_err_t, with which every last_error begins.
using ErrorText = std::string (*)(int error);

struct CoreStatus {
  std::int64_t in_flight_rows = 0;
  std::int64_t in_flight_bytes = 0;
  std::int64_t acknowledged_unmarked = 0;
  std::int64_t sent = 0;                 ///< Since start.
  std::int64_t possible_duplicates = 0;  ///< Rows sent again after an unknown outcome.
  std::int64_t producer_rebuilds = 0;
  std::int64_t pruned = 0;  ///< Rows that retention deleted.
  bool outage = false;
  /// Held rows that are ready, or may become so at once, are still on their way; --drain waits for them too.
  bool ready_pending = false;
  /// Every row up to this id of the database is sent (and marked), held or not yet due: what --drain waits for.
  std::vector<std::int64_t> settled_through;  ///< By database.
};

class Core {
 public:
  Core(const CoreOptions& options, Partitioner partitioner, ErrorText error_text);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core();

  /// One event in, commands out (appended). `steady` drives waits, `wall` is for due times and receipts.
  void step(SteadyTime steady, WallTime wall, const Event& event, Commands& out);

  /// When the next event::Tick is wanted at the latest.
  [[nodiscard]] SteadyTime next_tick() const;
  [[nodiscard]] CoreStatus status() const;
  /// For people; walks over the rows in memory.
  [[nodiscard]] CoreFigures figures() const;
  [[nodiscard]] DatabaseFigures figures_of(DatabaseIndex database) const;
  /// Every row of the database up to `id` is settled, and no held row of it is about to go out. True once it is closed.
  [[nodiscard]] bool settled(DatabaseIndex database, std::int64_t id) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::relay
