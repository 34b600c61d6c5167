#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <txbox/base/backoff.hpp>
#include <txbox/base/random.hpp>

#include "relay/engine/core.hpp"

namespace txbox::relay {

enum class TopicPhase : std::uint8_t {
  unknown,  ///< Not described yet, or in doubt: nothing of it is handed over until Kafka answered.
  usable,
  paused,   ///< Missing or denied: its rows wait in outbox_held; asked again with back-off.
  stopped,  ///< Recreated or truncated under us: its rows wait until the relay is started again.
};

/// One partition, as the relay's rows find it.
struct Partition {
  std::array<std::int64_t, 2> in_flight{};  ///< Rows, by producer.
  SteadyTime progress_at{};                 ///< The last acknowledgement, or when its first row was handed over.
  bool unavailable = false;                 ///< Kafka takes nothing there: its rows wait in outbox_held.
  std::string reason;                       ///< Kafka's name and text for that.
  [[nodiscard]] std::int64_t rows() const noexcept { return in_flight[0] + in_flight[1]; }
};

/// What the core knows of a topic. Shared by all databases.
struct Topic {
  std::string name;
  TopicPhase phase = TopicPhase::unknown;
  bool describing = false;
  SteadyTime describe_at{};            ///< When to ask next, unless describing.
  SteadyTime silent_since{};           ///< The first of the unsuccessful descriptions in a row.
  SteadyTime usable_at{};              ///< When it was last described as usable.
  std::uint64_t answers = 0;           ///< So often it was.
  SteadyTime trust_after{};            ///< "Usable" is not believed before: refusals said otherwise.
  unsigned tries = 0;                  ///< Unsuccessful descriptions in a row.
  unsigned refusals = 0;               ///< Refused by producers, without an acknowledgement since.
  std::string reason;                  ///< Kafka's name and text while not usable.
  std::string remedy;                  ///< Likewise: TopicFacts::remedy.
  std::int32_t partitions = 0;         ///< Pinned: keys map by this count until everything in flight is acknowledged.
  std::int32_t grown_to = 0;           ///< A larger count, to be adopted; 0 for none.
  std::int64_t message_bytes_max = 0;  ///< 0: not told.
  bool compacted = false;
  std::int32_t min_insync_replicas = 0;  ///< 0: not told.
  std::vector<Partition> by_partition;   ///< As far as rows went there.
  unsigned silent_looks = 0;             ///< Asked about so often for the sake of a silent partition.
  bool any_unavailable = false;
  std::int64_t open_rows = 0;                             ///< Handed over and neither acknowledged nor held.
  std::array<std::vector<std::int64_t>, 2> last_offsets;  ///< By producer and partition; -1 for none.
  std::int32_t sticky_partition = -1;
  std::int64_t sticky_bytes = 0;       ///< Left for that partition.
  std::uint32_t epoch = 0;             ///< Rises when rows that wait for the topic may go on.
  std::set<DatabaseIndex> waiting_in;  ///< Databases with rows of it in state waiting.
  [[nodiscard]] Partition& partition(std::int32_t number) {
    const auto index = static_cast<std::size_t>(number);
    if (index >= by_partition.size()) by_partition.resize(index + 1);
    return by_partition[index];
  }
  [[nodiscard]] bool is_unavailable(std::int32_t number) const noexcept {
    const auto index = static_cast<std::size_t>(number);
    return index < by_partition.size() && by_partition[index].unavailable;
  }
};

/// The number of a name that Kafka would not take.
inline constexpr std::uint32_t kNoTopic = UINT32_MAX;

/// What an answer about a topic changes for others.
enum class TopicChange : std::uint8_t { none, usable, grown, paused };

/// All topics by number. References stay valid. Single-threaded.
class TopicTable {
 public:
  explicit TopicTable(std::uint64_t seed) : random_(seed) {}

  /// The number of a topic, added when new; kNoTopic for an invalid name.
  [[nodiscard]] std::uint32_t number_of(std::string_view name);
  [[nodiscard]] Topic& at(std::uint32_t number) { return topics_[number]; }
  [[nodiscard]] std::size_t size() const noexcept { return topics_.size(); }

  /// Takes an answer in. Words for people are appended to `out`.
  TopicChange described(SteadyTime now, const event::TopicDescribed& answer, std::chrono::milliseconds refresh,
                        Commands& out);
  /// A producer refused a row for its topic's sake: doubt it until it was described.
  void refused(SteadyTime now, std::uint32_t number, const std::string& reason);
  /// An acknowledged offset. One that goes back stops the topic.
  void acknowledged(std::uint32_t number, ProducerKind producer, std::int32_t partition, std::int64_t offset,
                    Commands& out);
  /// Takes a grown partition count over once nothing is open. True when it did.
  bool adopt_growth(std::uint32_t number, Commands& out);
  /// The partition for a row without a key: stays for a while, so that batches fill.
  [[nodiscard]] std::int32_t spread(std::uint32_t number, std::int64_t bytes);

  /// Asks about what is due. Nothing is asked twice at a time.
  void ask(SteadyTime now, Commands& out);
  [[nodiscard]] SteadyTime next_ask() const;
  /// Limits may have changed: ask about every topic in use.
  void refresh_all(SteadyTime now);

 private:
  TopicChange usable(SteadyTime now, Topic& topic, const TopicFacts& facts, std::chrono::milliseconds refresh,
                     Commands& out);

  std::deque<Topic> topics_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  SteadyTime reached_at_{};  ///< The last time that Kafka answered about any topic.
  std::uint32_t last_ = 0;   ///< Rows of one topic come in runs.
  SeededRandom random_;
};

}  // namespace txbox::relay
