#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <txbox/store/outbox_marker.hpp>
#include <txbox/store/outbox_reader.hpp>

#include "relay/engine/core.hpp"

namespace txbox::sim {

/// One committed event.
struct ModelRow {
  std::int64_t id = 0;
  std::uint64_t nonce = 0;  ///< Its identity for ever: ids are used again after a power cut.
  std::string topic;
  std::optional<std::string> key;
  std::optional<std::int32_t> partition;
  std::optional<std::int64_t> deliver_at_ms;
  std::string payload;
  bool poison = false;  ///< The broker refuses it, and the batch that it is in.
  bool killer = false;  ///< The broker closes the connection when it comes.
  bool malformed = false;
  std::int64_t created_at_ms = 0;
  [[nodiscard]] std::optional<store::Lane> lane() const;
};

struct HeldRow {
  store::HeldState state = store::HeldState::parked;
  std::optional<store::Lane> lane;
  std::int32_t attempts = 0;
  std::optional<std::int64_t> due_at_ms;
  std::string last_error;
  bool by_person = false;  ///< A person parked or skipped it.
  bool redriven = false;
};

/// Reports a broken invariant: throws with the text.
[[noreturn]] void violated(const std::string& what);

/// One database in memory: the transitions of docs/schema.md with I1-I6 asserted. What libstore's SQL does is tested
/// elsewhere; this is what the core may rely on.
class ModelStore {
 public:
  /// Rows and marks as one transaction each, all of it lost by a power cut unless a barrier came after.
  void commit(ModelRow row);
  void barrier() { durable_ = now_; }
  void power_cut() { now_ = durable_; }

  [[nodiscard]] relay::event::DatabaseOpened open() const;
  /// The batch keeps the memory of its views.
  struct Batch {
    std::vector<ModelRow> memory;
    std::vector<store::OutboxRow> rows;
    bool exhausted = false;
  };
  [[nodiscard]] Batch read(std::int64_t after, std::int64_t limit) const;
  [[nodiscard]] Batch read_ready(std::int64_t after, std::int64_t scanned_through, std::int64_t limit) const;

  [[nodiscard]] store::MarkResult mark(const relay::command::Mark& mark);
  std::int64_t release_due(std::int64_t now_ms, std::int64_t limit);
  store::TopicRelease release_topic(const std::string& topic, std::int64_t after, std::int64_t limit);
  /// How often the same row was released with its topic, at most, since this was set to nought.
  [[nodiscard]] int most_topic_releases() const;
  void forget_topic_releases() { topic_releases_.clear(); }
  std::int64_t release_lane(store::Lane lane, std::int64_t limit);

  /// A step of retention: one row at most, as short as a step can be.
  store::PruneStep prune(const store::PruneLimits& limits);

  void park(std::int64_t id);
  void skip(std::int64_t id);
  void retry(std::int64_t id);
  /// How often a person changed something.
  [[nodiscard]] std::int64_t deeds() const { return now_.deeds; }
  void heal(std::int64_t id) { now_.rows.at(id).poison = now_.rows.at(id).killer = false; }

  [[nodiscard]] const std::map<std::int64_t, ModelRow>& rows() const { return now_.rows; }
  /// What retention deleted.
  [[nodiscard]] const std::map<std::int64_t, ModelRow>& pruned() const { return now_.pruned; }
  [[nodiscard]] const std::map<std::int64_t, store::Receipt>& receipts() const { return now_.receipts; }
  [[nodiscard]] const std::map<std::int64_t, HeldRow>& held() const { return now_.held; }
  [[nodiscard]] std::int64_t settled_through() const { return now_.settled_through; }
  [[nodiscard]] std::int64_t newest() const { return now_.rows.empty() ? 0 : now_.rows.rbegin()->first; }
  [[nodiscard]] bool is_durable(std::int64_t id, std::uint64_t nonce) const;
  void check_invariants() const;

 private:
  struct Content {
    std::map<std::int64_t, ModelRow> rows;
    std::map<std::int64_t, ModelRow> pruned;
    std::map<std::int64_t, store::Receipt> receipts;
    std::map<std::int64_t, HeldRow> held;
    std::int64_t settled_through = 0;
    std::int64_t deeds = 0;
  };
  void add(Batch& batch, const ModelRow& row) const;
  /// A row holds its lane back again: what was ready directly behind it, is not.
  void block_behind(std::map<std::int64_t, HeldRow>::iterator held);
  [[nodiscard]] bool settles(std::int64_t through) const;

  Content now_;
  Content durable_;
  std::map<std::int64_t, int> topic_releases_;  ///< By row.
};

}  // namespace txbox::sim
