#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <txbox/base/random.hpp>

#include "libinbox/src/consumer/core.hpp"
#include "model_database.hpp"
#include "model_group.hpp"

namespace txbox::sim {

/// What one run may contain, drawn from its seed: a few kinds of trouble at a time show more than all at once.
struct Weather {
  bool poison = false;
  bool crashes = false;
  bool zombies = false;
  bool power_cuts = false;
  bool locks = false;         ///< The application holds the write lock.
  bool store_faults = false;  ///< Commits that fail or are unknown, statements that fail.
  bool broker_faults = false;
  bool resets = false;
  bool retention = false;
  bool older_copies = false;
  bool prune = false;  ///< Claims are forgotten as soon as the rules allow it.
  bool prepare = false;
};

/// What a message does to its handler, by event.
struct Behaviour {
  enum class Kind : std::uint8_t { good, fails, kills, retry_after, parks, ends_transaction } kind = Kind::good;
  int times = 0;  ///< Then it is good. Large: for ever.
  [[nodiscard]] bool for_ever() const { return times > 1'000; }
};

/// What a store leaves out that breaks a promise: to see that the oracle can fail.
enum class LeftOut : std::uint8_t { nothing, compare_and_set, barrier };

class World;

/// One process: a production core, and the runner's part played around it, one command at a time.
class Process {
 public:
  Process(World& world, int id, const inbox::consumer::CoreOptions& options);

  /// Carries out the next command, or polls. False: it has ended.
  [[nodiscard]] bool act();
  void stop() { step(inbox::consumer::event::StopRequested{}); }
  /// Nothing to do before that.
  [[nodiscard]] SteadyTime idle_until() const { return idle_until_; }
  void wake() { idle_until_ = {}; }
  [[nodiscard]] bool busy() const { return !commands_.empty(); }
  [[nodiscard]] int id() const { return id_; }
  [[nodiscard]] const inbox::consumer::Core& core() const { return core_; }
  /// The message whose start stands in the store and whose end does not.
  [[nodiscard]] const std::optional<Coordinates>& started() const { return started_; }

 private:
  struct Fetch {
    std::int64_t position = 0;
    bool paused = false;
    bool stalled = false;
    std::int64_t end_told = -1;
  };

  void step(const inbox::consumer::Event& event);
  void poll();
  [[nodiscard]] bool poll_partition(std::int32_t number, Fetch& fetch);
  void carry_out(const inbox::consumer::Command& command);
  void on(const inbox::consumer::command::Load& load);
  void on(const inbox::consumer::command::Take& take);
  void on(const inbox::consumer::command::GiveUp& give_up);
  void on(const inbox::consumer::command::Apply& apply);
  void on(const inbox::consumer::command::DeadLetter& letter);
  void on(const inbox::consumer::command::Close& close);
  void on(const inbox::consumer::command::CommitKafka& commit);
  void on(const inbox::consumer::command::Assign& assign);
  [[nodiscard]] int event_at(const inbox::consumer::Place& place, std::int64_t offset) const;
  void lose_transaction();
  void roll_back();

  World& world_;
  int id_;
  inbox::consumer::Core core_;
  std::deque<inbox::consumer::Command> commands_;
  std::map<std::int32_t, Fetch> fetches_;
  std::set<Coordinates> kept_;        ///< The runner's own store of messages.
  std::set<Coordinates> unprepared_;  ///< Their preparation failed last.
  std::optional<Coordinates> started_;
  std::optional<Coordinates> start_in_batch_;
  bool end_in_batch_ = false;  ///< Of what was started.
  SteadyTime idle_until_{};
  bool ended_ = false;
};

/// A process ended in the middle of this.
struct Killed {};

/// Several processes over one model database and one model group, driven by one seed.
class World {
 public:
  explicit World(std::uint64_t seed, LeftOut what = LeftOut::nothing);
  /// Trouble, then peace until everything is done; then every event's effect is looked at.
  void run();

  // What processes use.
  [[nodiscard]] bool chance(std::uint64_t one_in) { return random.below(one_in) == 0; }
  [[nodiscard]] Behaviour behaviour_now(int event) const;
  /// The write ahead of a commit is judged here: nothing skipped, nothing twice, nothing backwards.
  void judge_commit(const Database& before, const Database& after);
  void judge_dead_letter(int event, const Coordinates& at, int attempts);
  void judge_kafka() const;
  void record_reset_followed(std::int32_t partition, std::int64_t offset);
  [[nodiscard]] int resets_made(std::int32_t partition) const;
  void skipped_by_policy(std::int32_t partition, std::int64_t from, std::int64_t to);
  [[nodiscard]] static inbox::consumer::Place place(std::int32_t partition) { return {"o", partition}; }

  SeededRandom random;
  Weather weather;
  inbox::consumer::CoreOptions options;
  std::unique_ptr<ModelDatabase> database;
  std::unique_ptr<ModelGroup> group;
  std::vector<Behaviour> behaviours;  ///< By event.
  std::vector<int> calls;             ///< Of the handler, by event.
  std::map<Coordinates, int> calls_at;
  std::map<Coordinates, int> lost_starts;  ///< Starts that stand in the store although no end will come.
  std::set<Coordinates> excused;           ///< Never applied, and rightly so.
  std::set<std::int32_t> stale;            ///< Kafka may be ahead here: the file is an older copy of itself.
  SteadyTime steady{std::chrono::hours(1)};
  WallTime wall{std::chrono::milliseconds(1'700'000'000'000)};
  bool peace = false;
  LeftOut left_out = LeftOut::nothing;

 private:
  void draw_weather();
  void make_topic();
  void produce();
  void act();
  void pass_time(std::chrono::milliseconds time);
  void start_process();
  void end_process(std::size_t index);
  void run_process(std::size_t index);
  void end_all();
  void trouble();
  void power_cut();
  void count_lost_starts();
  void person_resets();
  void restore_older_copy();
  void retention();
  void prune();
  void make_peace();
  [[nodiscard]] bool done() const;
  void settle();
  void judge_end() const;
  [[nodiscard]] bool all_excused(int event) const;
  void judge_event(int event) const;
  void drain();
  [[nodiscard]] std::string what_is_left() const;

  std::vector<std::unique_ptr<Process>> processes_;
  std::map<int, SteadyTime> frozen_;  ///< By process.
  std::set<int> dead_in_group_;       ///< Their session has not ended yet.
  std::map<std::int32_t, std::int64_t> reset_asked_;
  std::map<std::int32_t, int> resets_;  ///< A person made so many.
  std::vector<int> copies_left_;        ///< By event.
  std::optional<SteadyTime> application_holds_until_;
  std::optional<Database> older_copy_;
  int next_process_ = 0;
  std::size_t wanted_processes_ = 2;
};

[[nodiscard]] bool tracing();
void trace(const std::string& text);

}  // namespace txbox::sim
