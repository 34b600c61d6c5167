#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <txbox/base/random.hpp>

namespace txbox::sim {

struct ModelRecord {
  std::int64_t offset = 0;
  int event = kMarker;
  static constexpr int kMarker = -2;     ///< A control record: consumers never see it.
  static constexpr int kWithoutId = -1;  ///< A message that no id can be read from.
};

struct ModelPartition {
  std::vector<ModelRecord> records;  ///< Offsets rise, with gaps.
  std::int64_t low = 0;
  std::int64_t high = 0;
  struct Committed {
    std::int64_t offset = 0;
    std::string metadata;
  };
  std::optional<Committed> committed;

  void append(int event, std::int64_t gap);
  /// The first record that a consumer sees from `offset` on; null: none.
  [[nodiscard]] const ModelRecord* from(std::int64_t offset) const;
};

/// One consumer group of the eager kind over one topic: generations, members that are put out and learn of it late.
class ModelGroup {
 public:
  ModelGroup(Random& random, std::int32_t count) : random_(random), partitions(partitions_of(count)) {}

  enum class Word : std::uint8_t { none, assigned, revoked, lost };
  struct Told {
    Word word = Word::none;
    std::vector<std::int32_t> partitions;
  };

  void join(int member);
  /// Out of the group at once: it closed, or its process died and the session ended.
  void leave(int member);
  /// Put out while the process lives: it finds out when it polls, and not at once.
  void put_out(int member);
  [[nodiscard]] Told poll(int member, bool patient);
  void unassigned(int member);
  [[nodiscard]] bool commit(int member, std::int32_t partition, std::int64_t offset, const std::string& metadata);
  [[nodiscard]] bool in_group(int member) const;
  [[nodiscard]] bool empty() const { return members_.empty(); }
  [[nodiscard]] std::set<int> members() const;

 private:
  struct Member {
    bool out = false;
    bool has_assignment = false;
    bool must_revoke = false;
    bool ready = false;  ///< For the next generation.
    std::uint64_t generation = 0;
    std::optional<std::vector<std::int32_t>> to_assign;
  };
  static std::vector<ModelPartition> partitions_of(std::int32_t count) {
    return std::vector<ModelPartition>(static_cast<std::size_t>(count));
  }
  void rebalance();
  void complete();

  Random& random_;
  std::map<int, Member> members_;
  std::uint64_t generation_ = 0;
  bool rebalancing_ = false;

 public:
  std::vector<ModelPartition> partitions;
};

}  // namespace txbox::sim
