#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <txbox/base/backoff.hpp>
#include <txbox/base/clock.hpp>
#include <txbox/base/error.hpp>
#include <txbox/base/interned_name.hpp>
#include <txbox/base/log.hpp>
#include <txbox/inbox/consumer_options.hpp>

namespace txbox::inbox::consumer {

/// The consumer loop's decisions, without threads, I/O or now(): `core.step(steady, wall, event, commands)`. The
/// production runner and the simulator drive the same class.
///
/// The caller's part: the commands of a step are carried out at once and in their order, and what they ask for is
/// answered with an event before Kafka is polled again. So a transaction is never open across a poll, and nothing can
/// be revoked in the middle of one. Poll until next_tick() at most; a poll that gave nothing is event::PollIdle.

struct Place {
  InternedName topic;
  std::int32_t partition = -1;
  friend bool operator==(const Place&, const Place&) = default;
  friend bool operator<(const Place& left, const Place& right) {
    return left.topic == right.topic ? left.partition < right.partition : left.topic < right.topic;
  }
};

struct CoreOptions {
  std::string group;       ///< For texts.
  std::string store_uuid;  ///< Of the database: goes into the metadata of every commit to Kafka.
  std::int64_t incarnation = 0;
  int attempts = 5;
  Backoff retry{std::chrono::milliseconds(200), std::chrono::milliseconds(30'000)};
  MissingId missing_id = MissingId::park;  ///< `coordinates` is the runner's: such a message has an id.
  ForeignStore foreign_store = ForeignStore::stop;
  GroupReset group_reset = GroupReset::ignore;
  OffsetOutOfRange offset_out_of_range = OffsetOutOfRange::stop;
  NoCommittedOffset no_committed_offset = NoCommittedOffset::earliest;
  std::size_t batch_messages = 500;
  std::chrono::milliseconds batch_lock_hold{20};
  std::chrono::milliseconds kafka_commit_interval{200};
  std::size_t hand_bytes = 4 << 20;  ///< A batch begins when so much is in hand; twice as much is the most.
  bool drain = false;                ///< End when everything that was there at the assignment is done.
  std::uint64_t seed = 0;            ///< Jitter of back-offs.
};

namespace event {
/// The group gave these places: the whole list.
struct Assigned {
  std::vector<Place> places;
};
/// Everything is taken away; `lost`: somebody else may have it already.
struct Revoked {
  bool lost = false;
};
/// Answer to command::Load: for each place what stands in the store for this cluster and group, and what Kafka says.
/// A place whose leader does not answer is left out; the others go on without it, and it is asked for again.
struct PositionsLoaded {
  struct Stored {
    std::int64_t next_offset = 0;
    std::optional<std::int64_t> reset_to;
    std::int64_t assignment = 0;
  };
  struct Committed {
    std::int64_t offset = 0;
    std::string metadata;
  };
  struct Tries {  ///< Of a message from the stored position on (all of them where nothing is stored).
    std::int64_t offset = 0;
    int started = 0;
    int failed = 0;
    std::int64_t next_try_at_ms = 0;
    std::int64_t recorded_at_ms = 0;  ///< The wait was no longer than from then, whatever the wall clock says now.
  };
  struct Loaded {
    Place place;
    std::optional<Stored> stored = std::nullopt;
    std::optional<Committed> committed = std::nullopt;
    std::int64_t low = 0;   ///< The oldest record there is ...
    std::int64_t high = 0;  ///< ... and where the next one will be.
    std::vector<Tries> tries = {};
  };
  std::uint64_t round = 0;
  std::vector<Loaded> places;
};
/// Instead of PositionsLoaded or Taken: the broker does not answer, or the database is locked. Tried again.
struct LoadFailed {
  std::uint64_t round = 0;
  std::string reason;
};
/// Answer to command::Take: the position as it is now, and whether it was clean before.
struct Taken {
  struct Position {
    Place place;
    std::int64_t next_offset = 0;
    bool clean_before = false;
    std::int64_t assignment = 0;
    bool left = false;  ///< Not taken: set_next did not apply any more.
  };
  std::uint64_t round = 0;
  std::vector<Position> positions;
};
/// A record. The runner keeps the message under (place, offset) until command::Forget or ForgetAll.
struct Arrived {
  Place place;
  std::int64_t offset = 0;
  std::size_t bytes = 0;
  bool has_id = true;
  bool has_prepare = false;  ///< command::Prepare is wanted before it is applied.
};
/// Nothing more is there now.
struct PollIdle {};
/// Everything below `offset` was handed over: control records may stand between the last record and it.
struct EndReached {
  Place place;
  std::int64_t offset = 0;
};
/// Kafka has nothing at the position; the partition stalls until it is assigned anew.
struct OutOfRange {
  Place place;
  std::string reason;
};
/// Answer to command::Prepare.
struct Prepared {
  bool failed = false;
  std::string reason;
};
struct Begun {};
/// BEGIN IMMEDIATE did not get the lock, or failed otherwise. Tried again; costs no attempt.
struct BeginFailed {
  std::string reason;
};
/// Answer to command::Apply. Trouble of the database (disk full, an I/O error) is no outcome of the message: roll
/// back and answer Closed{failed} in its place.
struct Applied {
  enum class Kind : std::uint8_t {
    applied,
    duplicate,    ///< The claim was there already: the handler was not called.
    retry_after,  ///< The handler asked for another try after `delay`; its savepoint is rolled back.
    park,         ///< The handler gave the message up; its savepoint stands until command::DeadLetter.
    failed,       ///< The handler threw; its savepoint is rolled back.
    rolled_back,  ///< The handler ended the transaction: nothing of the batch is left. A failed attempt of this
                  ///< message.
  };
  Kind kind = Kind::applied;
  std::chrono::milliseconds delay{0};
  std::string reason;  ///< For failed, rolled_back and park; it may hold anything, so it is never logged here.
};
/// Answer to command::DeadLetter.
struct DeadLettered {
  enum class Kept : std::uint8_t {
    parked,
    outbox,
    given_up_before,  ///< A copy of an event that is a dead letter already: nothing is kept a second time.
    applied_before,   ///< A copy of an event that took effect: there is nothing to keep.
  };
  Kept kept = Kept::parked;
};
/// Answer to command::Close, or to any command inside the transaction when the database failed there.
struct Closed {
  enum class Result : std::uint8_t {
    committed,
    conflict,  ///< A compare-and-set failed; rolled back. Somebody else moved the position.
    failed,    ///< Rolled back; the batch is tried again.
    unknown,   ///< COMMIT failed and may have happened.
  };
  Result result = Result::committed;
  std::string reason;
};
/// Each place of a waited command::CommitKafka is answered with one of these two; of the others failures alone.
struct KafkaCommitted {
  Place place;
  std::int64_t offset = 0;
};
struct KafkaCommitFailed {
  Place place;
  std::int64_t offset = 0;
  std::string reason;
};
struct Tick {};
struct StopRequested {};
}  // namespace event

using Event = std::variant<event::Assigned, event::Revoked, event::PositionsLoaded, event::LoadFailed, event::Taken,
                           event::Arrived, event::PollIdle, event::EndReached, event::OutOfRange, event::Prepared,
                           event::Begun, event::BeginFailed, event::Applied, event::DeadLettered, event::Closed,
                           event::KafkaCommitted, event::KafkaCommitFailed, event::Tick, event::StopRequested>;

namespace command {
struct Load {
  std::uint64_t round = 0;
  std::vector<Place> places;
};
/// Makes the partitions this consumer's, in one transaction.
struct Take {
  struct One {
    Place place;
    /// As loaded. Where either is another now somebody took the partition meanwhile, and set_next does not apply.
    std::optional<std::int64_t> loaded_next;
    std::optional<std::int64_t> loaded_assignment;
    std::optional<std::int64_t> set_next;
    std::optional<std::int64_t> reset_to;  ///< A person's reset that was followed; -1: none is outstanding.
  };
  std::uint64_t round = 0;
  std::vector<One> places;
};
/// assign() of the whole list, at these offsets. It forgets all pauses.
struct Assign {
  struct One {
    Place place;
    std::int64_t offset = 0;
  };
  std::vector<One> places;
};
/// Gives the partitions up, where position and assignment are still ours. No answer; a failure only makes the next
/// owner careful.
struct GiveUp {
  struct One {
    Place place;
    std::int64_t expected = 0;
    std::int64_t assignment = 0;
    /// False while suspects are left of an earlier unclean stop: the one that ended a process may be among them.
    bool clean = true;
    std::optional<std::int64_t> not_tried = std::nullopt;  ///< A start of this was recorded, and did not happen.
  };
  std::vector<One> places;
};
struct Unassign {};
/// The application's slow work for a message, outside of the transaction.
struct Prepare {
  Place place;
  std::int64_t offset = 0;
  int attempt = 1;
};
struct Begin {};
/// Savepoint, claim, handler, release.
struct Apply {
  Place place;
  std::int64_t offset = 0;
  int attempt = 1;
};
/// Inside the open transaction. No answer: a failure here is the failure of the Close that follows.
struct RecordFailed {
  Place place;
  std::int64_t offset = 0;
  std::string error;
  std::int64_t next_try_at_ms = 0;
  bool was_started = false;  ///< This try was recorded as started: it counts once.
};
struct RecordStarted {
  Place place;
  std::int64_t offset = 0;
};
/// Rolls the message's savepoint back where one stands, claims the id as given up and stores the dead letter.
struct DeadLetter {
  Place place;
  std::int64_t offset = 0;
  std::string reason;
  int attempts = 0;
};
/// Forgets the tries of finished messages, advances every position by compare-and-set (`next` may be `expected`: then
/// it only checks), and commits. One that fails: roll back, conflict.
struct Close {
  struct Advance {
    Place place;
    std::int64_t expected = 0;
    std::int64_t next = 0;
  };
  struct Finished {
    Place place;
    std::int64_t offset = 0;
  };
  std::vector<Advance> advance;
  std::vector<Finished> forget;
};
/// The runner drops the message.
struct Forget {
  Place place;
  std::int64_t offset = 0;
};
struct ForgetAll {};
/// Durable first (the barrier), then to Kafka.
struct CommitKafka {
  struct One {
    Place place;
    std::int64_t offset = 0;
    std::string metadata;
  };
  std::vector<One> places;
  bool wait = false;
};
struct Pause {
  Place place;
};
struct Resume {
  Place place;
};
/// Words for a person: no key, no payload, nothing that a handler said.
struct Say {
  LogLevel level = LogLevel::info;
  std::string text;
};
/// The end, in order.
struct Stopped {};
/// The end, with an error for the caller of run().
struct Fail {
  ErrorCode code = ErrorCode::failure;
  std::string text;
};
}  // namespace command

using Command =
    std::variant<command::Load, command::Take, command::Assign, command::GiveUp, command::Unassign, command::Prepare,
                 command::Begin, command::Apply, command::RecordFailed, command::RecordStarted, command::DeadLetter,
                 command::Close, command::Forget, command::ForgetAll, command::CommitKafka, command::Pause,
                 command::Resume, command::Say, command::Stopped, command::Fail>;
using Commands = std::vector<Command>;

struct CoreStatus {
  std::int64_t applied = 0;  ///< These count what was committed, since the start.
  std::int64_t duplicates = 0;
  std::int64_t retried = 0;  ///< Failed tries, and those that asked for another one.
  std::int64_t dead_letters_to_outbox = 0;
  std::int64_t dead_letters_parked = 0;
  std::int64_t conflicts = 0;
  std::size_t in_hand = 0;
  std::size_t partitions = 0;
  std::size_t waiting = 0;         ///< Partitions whose first message waits for another try.
  std::size_t standing_still = 0;  ///< Partitions whose position is out of range.
};

class Core {
 public:
  explicit Core(const CoreOptions& options);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core();

  /// One event in, commands out (appended). `steady` drives waits, `wall` is what the store keeps.
  void step(SteadyTime steady, WallTime wall, const Event& event, Commands& out);

  /// When the next event is wanted at the latest: now or before, where a batch waits for a glance at Kafka.
  [[nodiscard]] SteadyTime next_tick() const;
  [[nodiscard]] CoreStatus status() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::inbox::consumer
