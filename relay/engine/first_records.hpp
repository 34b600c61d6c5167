#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <txbox/base/bytes.hpp>
#include <txbox/base/clock.hpp>
#include <txbox/kafka/producer.hpp>

namespace txbox::relay {

/// A record that waits, whole: what it was made of is gone by then.
struct KeptRecord {
  std::string topic;
  std::int32_t partition = 0;
  Bytes key;
  Bytes payload;
  std::vector<std::pair<std::string, Bytes>> headers;
  std::uint64_t tag = 0;
  [[nodiscard]] std::vector<kafka::HeaderView> header_views() const;
};

/// The first record of a producer to a partition goes alone; the rest is kept until Kafka has acknowledged it.
///
/// A broker tells a gap by the sequence number that should come next. Of a producer from which it has nothing in a
/// partition it knows none, and takes whatever comes: if the first request is refused, those behind it, which are on
/// their way already, land, and what was refused is overtaken. The same holds when it has forgotten the producer
/// (producer.id.expiration.ms), so a partition that was quiet for a while begins anew. Single-threaded.
class FirstRecords {
 public:
  /// What becomes of a record of this partition now.
  enum class Verdict : std::uint8_t { send, keep };

  /// `tag` names the record, if it is the first, in answered().
  [[nodiscard]] Verdict judge(const std::string& topic, std::int32_t partition, std::uint64_t tag, SteadyTime now);
  /// REQUIRES: judge() said keep, last of all for this partition.
  void keep(KeptRecord record);

  /// Whether somebody waits for a report at all: else answered() is of no use.
  [[nodiscard]] bool waiting() const noexcept { return !firsts_.empty(); }
  /// Kafka acknowledged this record. What waited for it, in order; often nothing.
  [[nodiscard]] std::deque<KeptRecord> answered(std::uint64_t tag);

  /// For a new producer. What was kept is dropped.
  void clear();

 private:
  enum class State : std::uint8_t { fresh, first_sent, open };
  struct Place {
    State state = State::fresh;
    SteadyTime used_at{};
    std::deque<KeptRecord> kept;
  };

  Place& place(const std::string& topic, std::int32_t partition);

  std::unordered_map<std::string, std::vector<Place>> topics_;
  std::pair<const std::string, std::vector<Place>>* newest_ = nullptr;  ///< Rows of one topic come in runs.
  /// The first records on their way, by tag: their topic and partition.
  std::unordered_map<std::uint64_t, std::pair<std::string, std::int32_t>> firsts_;
};

}  // namespace txbox::relay
