#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <txbox/base/backoff.hpp>
#include <txbox/base/random.hpp>

#include "relay/engine/core.hpp"
#include "relay/engine/lanes.hpp"
#include "relay/engine/published_topics.hpp"
#include "relay/engine/retention.hpp"
#include "relay/engine/topics.hpp"
#include "relay/engine/window.hpp"

namespace txbox::relay {

/// rd_kafka_resp_err_t of what the core refuses by itself (this folder knows no librdkafka).
namespace kafka_code {
inline constexpr int kTransport = -195;
inline constexpr int kUnknownPartition = -190;
inline constexpr int kLeaderNotAvailable = 5;
inline constexpr int kMsgSizeTooLarge = 10;
inline constexpr int kInvalidTopic = 17;
inline constexpr int kNotEnoughReplicas = 19;
inline constexpr int kInvalidRecord = 87;
}  // namespace kafka_code

/// How often silent partitions are looked for.
inline constexpr std::chrono::milliseconds kPartitionLooks{500};

/// Connections to a broker that came up and ended soon, one after the other.
struct BrokerEnds {
  unsigned count = 0;
  std::uint32_t first = 0;  ///< ProducerGuard::ended before the first of them.
  SteadyTime last{};
};

/// A row that was handed over when nothing else was in flight, and nothing since.
struct RowAlone {
  DatabaseIndex database = 0;
  std::int64_t row = 0;
  std::int64_t acknowledgements = 0;  ///< Of all rows by then.
  SteadyTime at{};
};

/// One producer instance as the order guard sees it.
struct ProducerGuard {
  std::uint32_t generation = 0;
  bool broken = false;    ///< Failed once; nothing is handed over until ProducerReady.
  unsigned failures = 0;  ///< Rebuilds in a row without an acknowledgement between them.
  std::int64_t in_flight = 0;
  /// Nothing more is handed over: it is rebuilt once only rows of unavailable partitions are left in it, or by then.
  std::optional<SteadyTime> retires_by;
  std::uint32_t ended = 0;  ///< Connections that came up and ended soon, ever.
  std::map<std::string, BrokerEnds> ends;
  std::optional<RowAlone> alone;
};

/// What there is to do when a hold was marked.
struct HoldNote {
  std::int64_t id = 0;
  store::HeldState state = store::HeldState::parked;
  std::optional<store::Lane> lane;
  std::optional<std::int64_t> due_at_ms;
  std::uint32_t topic = 0;
  std::uint32_t topic_epoch = 0;
  bool release_lane = false;  ///< Nobody knows whether something before it holds it back: ask.
};

/// A mark under way.
struct MarkUnderWay {
  std::uint64_t number = 0;
  std::vector<std::int64_t> receipts;
  std::vector<HoldNote> holds;
  std::vector<store::Lane> lanes;
  std::int64_t settled_through = 0;
  std::uint64_t issued_at = 0;  ///< Step number.
};

/// A release to be asked for.
struct ReleaseWanted {
  enum class Kind : std::uint8_t { due, topic, lane } kind = Kind::due;
  std::uint32_t topic = 0;
  store::Lane lane = 0;
};

/// What a scan or a pass stands before. Nothing set: it does not.
struct Stall {
  std::optional<std::uint32_t> topic;  ///< A row of a topic that Kafka has to describe first ...
  bool growth = false;                 ///< ... or whose larger partition count waits until nothing of it is open.
  std::int64_t bytes = 0;              ///< A row of this size.
};

/// A ready row that is suspected, in the time when it has no slot.
struct ReadySuspect {
  std::optional<store::Lane> lane;
  bool killer = false;
};

enum class Reading : std::uint8_t { none, rows, ready };

/// A number of one database that is also kept for all of them together: with a thousand files nobody adds up.
class SharedCount {
 public:
  explicit SharedCount(std::int64_t& all) noexcept : all_(&all) {}
  SharedCount& operator++() noexcept { return *this = own_ + 1; }
  SharedCount& operator--() noexcept { return *this = own_ - 1; }
  SharedCount& operator=(std::int64_t value) noexcept {
    *all_ += value - own_;
    own_ = value;
    return *this;
  }
  operator std::int64_t() const noexcept { return own_; }

 private:
  std::int64_t* all_;
  std::int64_t own_ = 0;
};

/// Sums over all databases.
struct Totals {
  std::int64_t open_rows = 0;
  std::int64_t reserved_rows = 0;
  std::int64_t in_flight_bytes = 0;
};

struct Database {
  Database(DatabaseIndex number, Totals& totals)
      : index(number),
        reserved_rows(totals.reserved_rows),
        in_flight_bytes(totals.in_flight_bytes),
        open_rows(totals.open_rows) {}

  DatabaseIndex index;
  bool opened = false;
  std::optional<SteadyTime> asleep_until;  ///< Nothing is under way: not looked at before, unless an event comes.

  // The scan.
  Window window;
  std::int64_t cursor = 0;     ///< Read and decided through this id; goes back to replay.
  bool rewind_wanted = false;  ///< At the end of this step, to the first row that is to be sent.
  bool exhausted = false;      ///< Nothing stood beyond the cursor when it was read last.
  bool woken = false;          ///< A wake came while a reading was under way: that may have missed it.
  Reading reading = Reading::none;
  SharedCount reserved_rows;  ///< Window rows set aside for the reading under way.
  Stall stall;
  SteadyTime floor_at{};

  // Rows of outbox_held that are ready again, taken up in passes: one reading each, from the lowest id on.
  std::map<std::int64_t, Slot> ready;  ///< Those that are handed over or to be marked.
  bool pass_wanted = false;
  std::set<store::Lane> pass_skipped;  ///< A row of the lane was left in this pass: so are the later ones.
  bool pass_left_rows = false;         ///< Or did not come to the end.
  SteadyTime pass_not_before{};
  SteadyTime pass_began{};
  Stall pass_stall;
  bool last_was_ready = false;
  /// Ready rows that their topic's limits would refuse, and how often the topic was described by then.
  std::map<std::int64_t, std::uint64_t> limits_asked;
  std::map<std::int64_t, ReadySuspect> ready_suspects;
  std::set<std::int64_t> pass_suspects;          ///< Of them, those that the running pass has seen.
  std::vector<std::int64_t> done_while_reading;  ///< A ReadyRead under way may still show these as ready.
  std::set<store::Lane> held_while_reading;      ///< Likewise it may not show that these lanes have a new held row.

  // Lanes, and per producer the first failed row of each lane since it broke.
  LaneTable lanes;
  std::array<std::unordered_map<store::Lane, std::int64_t>, 2> failed;
  std::set<store::Lane> moving;  ///< Lanes that go to probation when the main producer is new.

  // Marks.
  std::vector<store::Receipt> receipts;
  std::vector<store::Hold> holds;
  std::vector<HoldNote> hold_notes;  ///< Beside `holds`, one for one.
  std::deque<MarkUnderWay> marks;
  std::uint64_t next_mark = 1;
  std::int64_t settled_asked = 0;
  std::int64_t settled_confirmed = 0;
  std::optional<SteadyTime> unmarked_since;

  // Releases and reloads.
  std::deque<ReleaseWanted> releases;
  std::optional<ReleaseWanted> releasing;
  /// The topics of which a release is in `releases`, and the id above which it begins.
  std::map<std::uint32_t, std::int64_t> topic_release_after;
  std::optional<std::int64_t> next_due_ms;
  std::optional<std::int64_t> due_while_releasing;  ///< Marked since that release began: its answer may not know.
  bool reloading = false;
  bool reload_wanted = false;
  bool reload_whole = false;  ///< Whatever people did or did not.
  SteadyTime reload_whole_at{};
  SteadyTime reload_not_before{};
  SteadyTime reload_began{};
  std::uint64_t reload_step = 0;
  std::size_t sweep_position = 0;

  PruneBook prune;

  PublishedTopics published;
  std::int64_t possible_duplicates = 0;

  SharedCount in_flight_bytes;  ///< Handed to producers and not yet reported.
  SharedCount open_rows;        ///< Rows in memory that are neither sent nor held: what window_rows bounds.
};

/// What a row may do now. `stop`: nothing of the batch from here on can be decided yet.
enum class Verdict : std::uint8_t { produce, defer, hold, stop };

struct Core::State {
  State(const CoreOptions& core_options, Partitioner partition_of, ErrorText text)
      : options(core_options),
        partitioner(partition_of),
        error_text(text),
        topics(core_options.seed),
        retention(core_options.keep),
        random(core_options.seed ^ 0x9e3779b97f4a7c15ULL) {}

  CoreOptions options;
  Partitioner partitioner;
  ErrorText error_text;
  Totals totals;
  std::deque<std::optional<Database>> databases;  ///< By index; empty where there is none, or none any more.
  std::int64_t open_databases = 0;
  std::set<DatabaseIndex> awake;                          ///< Something may be to do for them.
  std::set<std::pair<SteadyTime, DatabaseIndex>> asleep;  ///< The others, by when they are looked at again.
  std::set<DatabaseIndex> asleep_until_due;               ///< Of those, the ones with scheduled rows.
  TopicTable topics;
  Retention retention;
  std::array<ProducerGuard, 2> producers;
  SeededRandom random;
  std::uint64_t step_number = 0;
  DatabaseIndex first_to_read = 0;   ///< Round robin over the databases.
  DatabaseIndex first_to_prune = 0;  ///< Likewise.

  SteadyTime now{};
  WallTime wall{};
  SteadyTime::duration clock_offset{};  ///< Of the wall clock from the steady one, when it was last seen to be set.
  Commands* out = nullptr;

  bool stopping = false;
  bool deadline_passed = false;
  bool stopped = false;
  bool outage = false;
  SteadyTime progress_at{};  ///< The last acknowledgement, or when something came in flight after nothing was.
  std::int64_t in_flight_rows = 0;
  std::int64_t handed_rows = 0;  ///< Handed over at least once, and neither acknowledged nor held.
  std::int64_t sent = 0;
  std::int64_t possible_duplicates = 0;
  std::int64_t producer_rebuilds = 0;
  DurationHistogram commit_to_ack;
  std::int64_t acknowledgements = 0;
  SteadyTime partitions_looked_at{};
  // Rows that may kill their connection (watchdog.cpp).
  std::int64_t killer_suspects = 0;
  bool turn_wanted = false;  ///< Rows were left because one is tried alone.
  struct {
    int acquitted = 0;
    int convicted = 0;
  } trial;                                   ///< Since there are suspects.
  unsigned convictions_without_witness = 0;  ///< In a row.
  unsigned batch_halvings = 0;

  // core.cpp
  void say_parked(const Database& db, const store::Hold& hold, bool let_go);
  void say(int level, std::string text) { out->other.emplace_back(command::Say{level, std::move(text)}); }
  void finish_step();
  void watch_outage();
  void finish_stop();
  [[nodiscard]] ProducerGuard& guard(ProducerKind kind) { return producers[static_cast<std::size_t>(kind)]; }

  // databases.cpp: which of them are there, and which need to be looked at.
  Database& database(DatabaseIndex index);
  [[nodiscard]] bool knows(DatabaseIndex index) const noexcept {
    return index < databases.size() && databases[index].has_value();
  }
  void on_closed(DatabaseIndex index);
  void wake(Database& db);
  void wake_due();
  void watch_clock();
  void let_sleep();
  [[nodiscard]] bool at_rest(const Database& db) const;
  [[nodiscard]] std::chrono::milliseconds floor_interval() const;
  [[nodiscard]] bool ready_pending(const Database& db) const;
  [[nodiscard]] std::int64_t open_rows() const noexcept { return totals.open_rows; }

  // scan.cpp: what is read becomes Produce commands, holds, or waits.
  void on_rows(const event::RowsRead& event);
  [[nodiscard]] bool scan_row(Database& db, const store::OutboxRow& row, std::uint32_t row_index);
  [[nodiscard]] Slot make_slot(const store::OutboxRow& row);
  void take_final(Database& db, const store::OutboxRow& row, Slot* known);

  // ready.cpp: passes over the rows of outbox_held that are ready again.
  void on_ready(const event::ReadyRead& event);
  [[nodiscard]] bool take_ready(Database& db, const store::OutboxRow& row, std::uint32_t row_index,
                                const std::unordered_map<store::Lane, std::int64_t>& first_open);
  [[nodiscard]] bool ready_must_wait(Database& db, const store::OutboxRow& row,
                                     const std::unordered_map<store::Lane, std::int64_t>& first_open);
  void want_pass(Database& db);
  void forget_gone_suspects(Database& db);

  // decide.cpp: the rules for one row.
  struct Decision {
    Verdict verdict = Verdict::produce;
    ProducerKind producer = ProducerKind::main;
    std::int32_t partition = 0;
    store::HeldState held = store::HeldState::parked;
    std::optional<std::int64_t> due_at_ms;
    std::string reason;
    Stall stall;
  };
  struct RowOrigin {
    bool from_held = false;  ///< A ready row of outbox_held, else one of the scan.
    bool is_new = true;      ///< It has no slot yet.
  };
  [[nodiscard]] Decision decide(Database& db, const store::OutboxRow& row, const Slot& slot, RowOrigin origin);
  [[nodiscard]] bool decide_by_topic(const store::OutboxRow& row, const Slot& slot, RowOrigin origin,
                                     Decision& decision);
  [[nodiscard]] std::string refused_by_itself(const store::OutboxRow& row, const Slot& slot) const;
  [[nodiscard]] std::string refused_by_topic(const store::OutboxRow& row, const Topic& topic) const;
  [[nodiscard]] bool choose_producer(Database& db, const Slot& slot, Decision& decision);
  void hand_over(Database& db, Slot& slot, const Decision& decision, std::uint32_t row_index);
  void hold(Database& db, Slot& slot, store::HeldState state, std::optional<std::int64_t> due_at_ms,
            std::string reason);

  // reports.cpp: the order guard.
  void on_reports(std::span<const event::Report> reports);
  void on_ack(Database& db, Slot& slot, const event::Report& report);
  void on_failure(Database& db, Slot& slot, const event::Report& report);
  void refuse(Database& db, Slot& slot, std::string reason);
  [[nodiscard]] static Slot* find_in_flight(Database& db, std::int64_t row);
  void suspect(Database& db, Slot& slot);
  void break_producer(ProducerKind kind);
  void on_producer_ready(const event::ProducerReady& event);
  void abandon_flight(Database& db, ProducerKind kind);
  void take_back(Database& db, ProducerKind kind);
  void left_flight(Database& db, Slot& slot);
  void note_failed(Database& db, const Slot& slot);
  void to_unsent(Database& db, Slot& slot);
  void resolve(Database& db, Slot& slot);
  void check_lane_return(Database& db, store::Lane lane);
  void apply_rewind(Database& db);

  // partitions.cpp: partitions that take nothing.
  void watch_partitions();
  void judge_partitions(std::uint32_t number, const TopicFacts& facts);
  void call_unavailable(Topic& topic, std::int32_t number, std::string reason);
  void call_available(std::uint32_t topic, std::int32_t number);
  void retire(ProducerKind kind);
  void finish_retirement(ProducerKind kind);
  [[nodiscard]] std::int64_t rows_at_unavailable(ProducerKind kind);

  // watchdog.cpp: rows that kill their connection.
  void on_connection_ended(const event::ConnectionEnded& event);
  void judge_alone(const RowAlone& row, const std::string& broker, unsigned ends);
  void accuse(ProducerKind kind, const std::string& broker, BrokerEnds& ends);
  void suspect_of_killing(Database& db, Slot& slot);
  [[nodiscard]] bool must_wait_for_turn(ProducerKind kind);
  void next_turn();
  void no_longer_killer(bool acknowledged);
  void convict(RowAlone row, const std::string& broker, unsigned ends);

  // core_figures.cpp
  void count_published(Database& db, const Slot& slot, const store::Receipt& receipt);

  // marks.cpp
  void on_marked(const event::Marked& event);
  void receipt_marked(Database& db, std::int64_t id);
  void hold_marked(Database& db, const HoldNote& note);
  void lanes_marked(Database& db, const MarkUnderWay& mark, const store::MarkResult& result);
  void schedule_marks(Database& db);
  void issue_mark(Database& db);
  void note_unmarked(Database& db);
  [[nodiscard]] bool everything_marked(Database& db);

  // releases.cpp
  void on_opened(const event::DatabaseOpened& event);
  void first_load(Database& db, const event::DatabaseOpened& event);
  void reload_lanes(Database& db, const std::vector<store::LaneLoad>& loads);
  void on_held_unchanged(const event::HeldUnchanged& event);
  void on_woken(const event::Woken& event);
  void on_described(const event::TopicDescribed& event);
  void on_released(const event::Released& event);
  void queue_lane_release(Database& db, store::Lane lane);
  void release_topic(std::uint32_t number);
  void queue_topic_release(Database& db, std::uint32_t number, std::int64_t after);
  void schedule_releases(Database& db);
  void schedule_reload(Database& db);

  // retention.cpp
  void on_pruned(const event::Pruned& event);
  void on_retention(const event::RetentionPolicy& event);
  void schedule_prune();

  // reads.cpp
  void schedule_reads();
  [[nodiscard]] bool try_ready_pass(Database& db);
  [[nodiscard]] bool try_read(Database& db);
  [[nodiscard]] bool may_go_on(const Database& db, Stall& stall);
  [[nodiscard]] store::ReadLimits limits(const Database& db, std::int64_t rows) const;
  [[nodiscard]] std::int64_t free_rows(const Database& db) const;
  [[nodiscard]] std::int64_t first_rows() const noexcept;
  [[nodiscard]] bool row_fits(const Database& db) const;
  [[nodiscard]] bool bytes_fit(const Database& db, std::int64_t bytes) const;
  /// What one database may have of a window.
  [[nodiscard]] std::int64_t share(std::int64_t window) const noexcept {
    return open_databases > 1 ? std::max<std::int64_t>(1, window / 2) : window;
  }
  void at_due_time(const Database& db, SteadyTime& next) const;
  void at_clock_look(SteadyTime& next) const;
  [[nodiscard]] SteadyTime next_tick() const;
};

}  // namespace txbox::relay
