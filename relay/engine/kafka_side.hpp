#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <txbox/kafka/producer.hpp>

#include "relay/engine/core.hpp"
#include "relay/engine/first_records.hpp"
#include "relay/engine/record.hpp"

namespace txbox::relay {

/// The two producers and their lives: hands rows over, gathers reports, rebuilds what came to its end, and
/// fits the clients' limits to the topics'. Decides nothing about rows. Single-threaded.
class KafkaSide {
 public:
  KafkaSide(kafka::ProducerOptions options, std::string id_header);
  KafkaSide(const KafkaSide&) = delete;
  KafkaSide& operator=(const KafkaSide&) = delete;
  ~KafkaSide();

  /// Hands `rows[p.row_index]` over for each p, in order. A row that a producer did not take is reported in `out`, and
  /// nothing more goes to that producer until it was rebuilt, since no successor may pass; the rest is dropped
  /// without a report.
  void hand_over(std::span<const command::Produce> produces, std::span<const store::OutboxRow> rows,
                 std::vector<event::Report>& out);

  /// Appends the reports that are there; false when more may be waiting.
  bool gather(std::vector<event::Report>& out);

  /// Starts a rebuild: purge, reports, destroy, the wait asked for, a new producer. advance() carries it on.
  void rebuild(const command::Rebuild& wish, SteadyTime now);
  /// Appends the producers that became ready.
  void advance(SteadyTime now, std::vector<event::ProducerReady>& out);
  /// When advance() is wanted at the latest.
  [[nodiscard]] SteadyTime next_deadline() const noexcept;

  /// Makes the topic's handle and fits batch and record limits to it. False when a producer must be replaced first
  /// and still has records in flight: nothing may be handed over until fit() is true.
  bool know_topic(const std::string& topic, const TopicFacts& facts);
  bool fit();

  /// Other librdkafka properties, checked before, for every producer from here on. Those that are there are replaced by
  /// advance(), as soon as nothing of theirs is in flight; after a few seconds what is left is given back unsent.
  void use(kafka::Properties properties, SteadyTime now);
  /// A producer waits for that: nothing may be handed over.
  [[nodiscard]] bool changing() const noexcept;

  /// Descriptors to poll, -1 where a producer is not there.
  [[nodiscard]] std::array<int, 2> report_descriptors() const noexcept;
  void drain_report_descriptors() noexcept;
  [[nodiscard]] std::size_t in_queue() const noexcept;
  /// Of the producers that are there now.
  [[nodiscard]] kafka::ConnectionTally connection_tally() const;
  /// The newest client error of either, for words to a person.
  [[nodiscard]] std::optional<kafka::ClientError> take_client_error();
  /// The connections that ended since the last call, of the producers that are in use.
  [[nodiscard]] std::vector<event::ConnectionEnded> take_connection_ends();

 private:
  enum class Phase { running, purging, waiting };
  struct Slot {
    std::unique_ptr<kafka::Producer> producer;
    std::uint32_t generation = 0;
    Phase phase = Phase::running;
    FirstRecords firsts;
    bool closed = false;                        ///< A row was not taken, or it was purged: nothing more may go to it.
    SteadyTime replace_by = SteadyTime::max();  ///< Made before use(): when to end the wait for what is in flight.
    std::uint32_t next_generation = 0;
    SteadyTime purge_deadline{};
    SteadyTime not_before{};
    std::int64_t batch_bytes = 0;  ///< As its producer was made with; 0 is librdkafka's default.
    std::int64_t message_bytes = 0;
  };
  struct Limits {
    std::int64_t batch_bytes = 0;
    std::int64_t message_bytes = 0;
  };

  [[nodiscard]] Limits wanted_limits() const noexcept;
  [[nodiscard]] bool fits(const Slot& slot) const noexcept;
  void make(ProducerKind kind);
  void replace_outdated(ProducerKind kind, SteadyTime now);
  int hand_over_one(Slot& slot, const command::Produce& produce, const store::OutboxRow& row);
  void hand_over_kept(ProducerKind kind, const std::deque<KeptRecord>& records, std::vector<event::Report>& out);
  bool gather_from(ProducerKind kind, std::vector<event::Report>& out);
  const std::string& topic_name(std::string_view topic);

  kafka::ProducerOptions options_;
  RecordHeaders headers_;
  std::array<Slot, 2> slots_;
  /// Of the usable topics: bytes a record or batch, 0: not told.
  std::map<std::string, std::int64_t, std::less<>> topic_limits_;
  unsigned batch_halvings_ = 0;  ///< The main producer's batches are so much smaller than topics would allow.
  std::string last_topic_;
  std::vector<kafka::DeliveryReport> deliveries_;
  std::vector<event::Report> early_;  ///< Gathered while a full queue was waited for.
};

}  // namespace txbox::relay
