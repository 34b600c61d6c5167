#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <txbox/base/random.hpp>

#include "libinbox/src/consumer/core.hpp"
#include "libinbox/src/consumer/positions.hpp"

namespace txbox::inbox::consumer {

/// As good as for ever, and far from what a clock's numbers can hold.
inline constexpr std::chrono::milliseconds kLongestWait = std::chrono::hours(10 * 365 * 24);

/// What the store knows of the tries of a message that is not finished.
struct Tries {
  int started = 0;  ///< Started, and no end of them recorded: the process died, or one is under way.
  int failed = 0;
  SteadyTime not_before{};
  [[nodiscard]] int count() const { return started + failed; }
};

/// A message that arrived and is not finished.
struct Message {
  std::int64_t offset = 0;
  std::size_t bytes = 0;
  bool has_id = true;
  bool has_prepare = false;
  bool to_prepare = false;
  bool start_recorded = false;         ///< This try stands in the store already.
  bool alone = false;                  ///< The database failed in it: it no longer shares a batch.
  std::optional<std::string> failure;  ///< This try has failed already, before the transaction or with it.
};

struct Partition {
  Place place;
  std::int64_t position = 0;  ///< As this consumer last wrote or loaded it: what a compare-and-set expects.
  std::int64_t assignment = 0;
  std::int64_t target = 0;      ///< The high watermark when it was first assigned: what a drain reads to.
  std::int64_t confirmed = -1;  ///< Kafka has this of us for sure ...
  std::int64_t told = -1;       ///< ... and was sent this.
  std::size_t suspects = 0;     ///< So many messages more run one by one.

  std::deque<Message> hand;  ///< In order; what is below the position is gone.
  std::size_t hand_bytes = 0;
  std::int64_t end = 0;  ///< Everything below it arrived.
  std::map<std::int64_t, Tries> tries;
  std::optional<SteadyTime> wait_until;
  bool paused = false;

  // The open batch.
  bool touched = false;
  bool stopped = false;  ///< Its next message is not for this batch.
  std::size_t done = 0;  ///< Of the hand.
  std::int64_t next = 0;

  [[nodiscard]] bool ready() const { return !wait_until && !hand.empty(); }
  /// Control records at the end: the position moves there when nothing else does.
  [[nodiscard]] bool end_to_store() const { return hand.empty() && end > position; }
  [[nodiscard]] const Tries* tries_of(std::int64_t offset) const {
    const auto found = tries.find(offset);
    return found == tries.end() ? nullptr : &found->second;
  }
};

enum class Doing : std::uint8_t { nothing, preparing, beginning, choosing, applying, giving_up, closing };
enum class Ending : std::uint8_t { applied, duplicate, given_up };

/// What a batch leaves in memory once it is committed.
struct Batch {
  struct Finish {
    Partition* partition = nullptr;
    std::int64_t offset = 0;
    Ending ending = Ending::applied;
    event::DeadLettered::Kept kept{};  ///< For given_up, as the number of its attempts.
    int attempts = 0;
  };
  struct Retry {
    Partition* partition = nullptr;
    std::int64_t offset = 0;
    SteadyTime until{};
    bool was_started = false;
  };
  Doing doing = Doing::nothing;
  Partition* current = nullptr;  ///< Whose next message the command under way is about.
  std::size_t index = 0;         ///< Of a message that is being prepared, in its hand.
  std::map<Place, Partition>::iterator at;
  std::size_t visited = 0;      ///< Partitions that have nothing more for this batch.
  Partition* single = nullptr;  ///< The only partition of this batch, with one message.
  bool start_only = false;      ///< It only records the start of that message.
  std::size_t messages = 0;
  SteadyTime began{};
  SteadyTime asked{};  ///< When the handler was called.
  int attempts = 0;    ///< Of the message that is being given up.
  std::vector<Finish> finished;
  std::vector<Retry> retries;
  Partition* started = nullptr;  ///< The start of its message at `done` is recorded in this batch.
};

enum class Phase : std::uint8_t {
  idle,      ///< Nothing is assigned.
  waiting,   ///< A round begins at load_at.
  loading,   ///< Load is under way ...
  taking,    ///< ... or Take ...
  telling,   ///< ... or Kafka is told where some partitions start ...
  settling,  ///< ... or the store, that no reset is outstanding.
  running,
  ended,
};

/// Why everything in hand is left.
enum class Leave : std::uint8_t { no, reload, revoked, lost, stop };

/// A partition between Load and Assign.
struct Starting {
  Start start;
  Partition partition;
  std::optional<std::int64_t> loaded_next;
  std::optional<std::int64_t> loaded_assignment;
  std::optional<std::int64_t> offset_in_kafka;
};

/// What outlives an assignment that this consumer itself makes anew.
struct Remembered {
  std::int64_t assignment = 0;
  std::size_t suspects = 0;
};

struct Core::State {
  explicit State(const CoreOptions& core_options)
      : options(core_options), metadata(commit_metadata(core_options)), random(core_options.seed) {}

  CoreOptions options;
  std::string metadata;
  SeededRandom random;
  SteadyTime now{};
  WallTime wall{};
  Commands* out = nullptr;
  CoreStatus counts;

  Phase phase = Phase::idle;
  std::vector<Place> assigned;
  std::uint64_t round = 0;
  SteadyTime load_at{};
  unsigned load_failures = 0;
  std::map<Place, Starting> starting;
  std::size_t unanswered_commits = 0;
  bool telling_failed = false;
  std::set<std::string> said;  ///< In this assignment, so that a round that is repeated says nothing twice.
  std::set<Place> standing;
  std::set<Place> unanswered;  ///< Assigned, and Kafka did not say where they begin and end.
  SteadyTime ask_again_at{};   ///< For those, while the others run.
  std::map<Place, Remembered> remembered;
  std::map<Place, std::int64_t> targets;

  std::map<Place, Partition> partitions;
  std::size_t waits = 0;  ///< Partitions that wait.
  Place last_served;
  Batch batch;
  bool progressed = false;  ///< Since a drain last looked whether it is at its end.
  bool glanced = false;     ///< Kafka had nothing more: what is in hand is a batch.
  std::size_t ready_messages = 0;
  std::size_t ready_bytes = 0;
  SteadyTime begin_at{};
  unsigned store_failures = 0;
  unsigned upsets = 0;  ///< Conflicts and the like in a row, without a batch committed between them.
  unsigned conflicts_in_row = 0;
  SteadyTime polled_at{};  ///< The caller looked after the group then.
  SteadyTime prepare_since{};
  SteadyTime commit_at{};  ///< Kafka is told again from then on.
  SteadyTime slow_said_at{};
  bool slow_said = false;
  bool any_prepare = false;  ///< A message of this assignment wants to be prepared.

  Leave leave = Leave::no;
  std::optional<command::Fail> failure;

  // core.cpp
  void proceed();
  void say(LogLevel level, std::string text) { out->emplace_back(command::Say{level, std::move(text)}); }
  void say_once(LogLevel level, const std::string& text);
  void want(Leave why);
  void leave_now();
  void give_up_all();
  void commit_waited();
  void tell_kafka();
  void on_commit_answer(const Place& place, std::int64_t offset, bool failed);
  [[nodiscard]] bool drained() const;
  [[nodiscard]] SteadyTime next_tick() const;

  // core_rounds.cpp
  void on_assigned(const event::Assigned& what);
  void begin_round(SteadyTime at);
  void load();
  void on_loaded(const event::PositionsLoaded& what);
  void ask_again_later();
  void ask_again();
  void on_load_failed(const std::string& reason);
  void on_taken(const event::Taken& what);
  void start_over(const std::string& reason);
  void give_back(const event::Taken& what);
  void tell_starts();
  void settle();
  void run();
  [[nodiscard]] Starting starting_from(const event::PositionsLoaded::Loaded& loaded);

  // core_hand.cpp
  void on_arrived(const event::Arrived& what);
  void on_end(const event::EndReached& what);
  void on_out_of_range(const event::OutOfRange& what);
  void wait(Partition& partition, SteadyTime until);
  void look_at_head(Partition& partition);
  void end_waits();
  void recount();
  void hold_back(Partition& partition);
  void let_on();
  [[nodiscard]] bool hand_full() const;
  [[nodiscard]] std::size_t share() const;

  // core_batch.cpp
  void start_batch();
  void prepare_or_begin();
  [[nodiscard]] bool next_to_prepare();
  [[nodiscard]] bool next_to_prepare_of(Partition& partition, std::size_t& seen);
  void on_prepared(const event::Prepared& what);
  void begin();
  void on_begin_failed(const std::string& reason);
  void on_begun();
  void choose();
  [[nodiscard]] bool serve(Partition& partition);
  void on_applied(const event::Applied& what);
  void on_dead_lettered(const event::DeadLettered& what);
  [[nodiscard]] bool failed_try(Partition& partition, const std::string& reason,
                                std::optional<std::chrono::milliseconds> delay);
  void dead_letter(Partition& partition, const std::string& reason, int attempts);
  /// 1 for the first try of all lives.
  [[nodiscard]] int attempt_of(const Partition& partition, const Message& message) const;
  void finish(Partition& partition, Ending ending);
  void start_next(Partition& partition);
  void close();
  [[nodiscard]] bool needs_start(const Partition& partition, const Message& message) const;
  [[nodiscard]] std::optional<std::string> unseen_end(const Partition& partition, const Message& message) const;
  [[nodiscard]] std::map<Place, Partition>::iterator after_last();

  // core_outcome.cpp
  void on_closed(const event::Closed& what);
  void committed();
  void rolled_back(const std::string& reason);
  void undo();
  void count(const Batch::Finish& finish);
};

}  // namespace txbox::inbox::consumer
