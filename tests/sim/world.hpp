#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <txbox/base/random.hpp>

#include "model_broker.hpp"
#include "model_store.hpp"
#include "relay/engine/core.hpp"

namespace txbox::sim {

[[nodiscard]] std::int32_t partition_of(std::string_view key, std::int32_t count);

/// What one run may contain, drawn from its seed: a few kinds of trouble at a time show more than all at once.
struct Weather {
  bool broker_faults = false;  ///< Lost answers, producers that die of themselves.
  bool poison = false;
  bool killers = false;        ///< Rows that kill their connection, and brokers that go away.
  bool topics_change = false;  ///< Missing, denied, back, grown.
  bool topics_recreated = false;
  bool partitions_close = false;  ///< No leader, or too few replicas in sync.
  bool crashes = false;
  bool power_cuts = false;
  bool people = false;      ///< Park, skip, retry.
  bool policy_set = false;  ///< The relay is told anew what becomes of a refused row's key.
  bool scheduled = false;
  bool lost_marks = false;  ///< A mark commits and its answer does not come.
  bool retention = false;
  bool clock_set = false;  ///< The wall clock jumps, forwards and back.
  bool races = false;      ///< Rows handed over while a refusal is still unread (docs/architecture.md).
};

/// One relay's life (or several, after crashes) over model stores and a model broker, driven by one seed. The
/// production runner's part is played here: commands are carried out late, in part, or never; answers come late.
class World {
 public:
  explicit World(std::uint64_t seed);

  /// Trouble, then peace until everything drained, then poison is healed and people retry: all must be sent.
  void run();

  // For the oracle.
  [[nodiscard]] const std::vector<ModelStore>& stores() const { return stores_; }
  [[nodiscard]] const ModelBroker& broker() const { return broker_; }
  /// Nothing happened that could make any row go out twice.
  [[nodiscard]] bool calm() const;
  /// Rows that retention deleted, in all databases.
  [[nodiscard]] std::size_t pruned() const;
  [[nodiscard]] bool retention() const { return options_.keep != relay::KeepLimits{}; }
  /// A key may have gone on without a row that was refused.
  [[nodiscard]] bool let_keys_go() const { return let_keys_go_; }
  std::set<std::uint64_t> let_go;  ///< Rows (by nonce) whose key a person or the policy let go on without them.
  std::set<std::pair<relay::DatabaseIndex, store::Lane>> raced;  ///< Lanes hit by a race that no relay can win.
  std::set<std::uint64_t> deserved;  ///< Rows that Kafka or the core has a reason to refuse.

 private:
  struct Answer {
    relay::Event event;
    ModelStore::Batch batch;  ///< Memory of its rows.
  };
  struct Side {  ///< The runner's book for one database.
    std::optional<relay::Command> reading;
    std::optional<Answer> read;
    std::optional<relay::command::Reload> reload;
    std::int64_t deeds_seen = 0;
    std::optional<Answer> reloaded;
    std::deque<relay::Command> marking;
    std::deque<relay::Event> marked;
  };

  // world.cpp: the runner's part.
  void start_relay();
  void step(const relay::Event& event, const ModelStore::Batch* batch = nullptr);
  void hand_over(const relay::command::Produce& produce, const ModelRow& row);
  void take_command(const relay::Command& command);
  void carry_out_reading(relay::DatabaseIndex index);
  void carry_out_marking(relay::DatabaseIndex index);
  void deliver_read(relay::DatabaseIndex index);
  void deliver_reports();
  void deliver_ends();
  void rebuild(relay::ProducerKind kind);
  void describe();
  void check_bounds();
  void act();
  void pass_time(std::chrono::milliseconds time);

  // world_faults.cpp: the weather.
  void draw_weather();
  void commit_rows();
  void trouble();
  void change_topic();
  void close_partition();
  [[nodiscard]] bool may_wait(const ModelRow& row) const;
  void crash(bool power_cut);
  void person();
  void set_policy();
  void make_peace();
  void open_partitions();
  void drain(const std::string& phase);
  [[nodiscard]] bool drained() const;
  [[nodiscard]] std::string what_is_left() const;
  void retry_in_vain();
  void retry_everything();

  [[nodiscard]] bool chance(std::uint64_t one_in) { return random_.below(one_in) == 0; }

  SeededRandom random_;
  Weather weather_;
  relay::CoreOptions options_;
  std::vector<ModelStore> stores_;
  ModelBroker broker_;
  std::vector<std::string> topic_names_;
  std::unique_ptr<relay::Core> core_;
  std::array<ModelProducer*, 2> producers_{};
  std::array<bool, 2> shut_{};  ///< A produce() failed: nothing more goes to that producer.
  std::array<std::optional<relay::command::Rebuild>, 2> rebuilding_;
  std::array<SteadyTime, 2> rebuild_at_{};
  std::vector<Side> sides_;
  std::deque<std::string> describing_;
  std::deque<relay::Event> described_;
  SteadyTime steady_{std::chrono::hours(1)};
  WallTime wall_{std::chrono::milliseconds(1'700'000'000'000)};
  std::uint64_t next_nonce_ = 1;
  bool peace_ = false;
  bool let_keys_go_ = false;
  bool pruning_ = false;
  bool told_to_restart_ = false;  ///< The relay said that a topic was recreated and what a person has to do.
};

/// Throws what the promises say was broken. Called when a run has drained.
void judge(const World& world);

}  // namespace txbox::sim
