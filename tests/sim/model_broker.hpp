#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <txbox/base/random.hpp>

#include "relay/engine/core.hpp"

namespace txbox::sim {

/// One record on its way to Kafka or in its log.
struct ModelRecord {
  relay::DatabaseIndex database = 0;
  std::int64_t row = 0;
  std::uint64_t nonce = 0;
  std::string topic;
  std::int32_t partition = 0;
  bool poison = false;
  bool killer = false;
  std::uint64_t landed_at = 0;  ///< Order over all partitions.
};

struct ModelTopic {
  relay::TopicFacts::State state = relay::TopicFacts::State::usable;
  std::int32_t partitions = 1;
  std::int64_t message_bytes_max = 1'000'000;
  bool compacted = false;
  bool looks_usable = false;  ///< Describing it is allowed though writing is not.
  std::vector<std::int64_t> ends;
  std::set<std::int32_t> closed;  ///< Partitions that take nothing, and of which the client says no word.
  bool without_leader = false;    ///< Why they do: else too few replicas are in sync.
  [[nodiscard]] relay::TopicFacts facts() const;
};

/// Requests of one producer to one partition, in the order of their sequence numbers.
struct ModelStream {
  std::deque<ModelRecord> queue;
  std::deque<std::vector<ModelRecord>> requests;  ///< At most five.
  bool cut = false;                               ///< A request was refused: the broker takes no later sequence number.
  /// The broker has something of this producer here, so it knows the next sequence number: of a producer that it does
  /// not know it takes any.
  bool known = false;
  bool acknowledged = false;  ///< And the client knows that.
  std::size_t landed = 0;     ///< Requests at the front that are in the log, their answers lost so far.
};

struct ModelProducer {
  relay::ProducerKind kind = relay::ProducerKind::main;
  std::uint32_t generation = 0;
  bool alive = true;  ///< Else it was purged or its process died; its requests may still land.
  bool fatal = false;
  std::map<std::pair<std::string, std::int32_t>, ModelStream> streams;
  std::deque<relay::event::Report> reports;  ///< Not yet served.
  std::deque<bool> ended;                    ///< Connections, not yet told of: whether each had come up.
  std::set<std::pair<relay::DatabaseIndex, std::int64_t>> unreported;
};

/// A cluster and librdkafka as measured against a real one: idempotent gapless producers with up to five requests in
/// flight to a partition, whole batches refused for one row, answers that get lost, requests that land after their
/// producer is gone, and refusals that librdkafka makes by itself, which cut nothing.
class ModelBroker {
 public:
  explicit ModelBroker(Random& random) : random_(random) {}

  std::map<std::string, ModelTopic> topics;

  /// Hands one record over. False: produce() failed, and the report says why.
  [[nodiscard]] bool produce(ModelProducer& producer, const ModelRecord& record);
  /// Something happens somewhere: a request is sent, processed, answered, or a producer dies of itself.
  void act(bool faults);
  /// The client learns that a topic is gone or denied: what is queued fails by the client's own decision.
  void fail_queued(ModelProducer& producer, const std::string& topic);
  /// Purges: every row without a report gets one; requests on the wire may land later.
  void purge(ModelProducer& producer);
  /// The broker goes away and comes back: connections die, and for a while none comes up.
  void flap(ModelProducer& producer);
  void crash(ModelProducer& producer);
  void delete_topic(const std::string& topic);
  void make_topic(const std::string& topic, std::int32_t partitions);

  ModelProducer& add_producer(relay::ProducerKind kind, std::uint32_t generation);
  [[nodiscard]] bool idle() const;
  /// Everything that ever landed, the records of deleted topics included.
  [[nodiscard]] const std::vector<ModelRecord>& landed() const { return landed_; }

 private:
  void send(ModelProducer& producer, ModelStream& stream);
  void process(ModelProducer& producer, const std::string& topic, ModelStream& stream, bool faults);
  void answer(ModelProducer& producer, const std::vector<ModelRecord>& batch, std::int64_t first_offset);
  void report(ModelProducer& producer, const ModelRecord& record, relay::ReportKind kind, int error,
              std::int64_t offset);

  Random& random_;
  std::deque<ModelProducer> producers_;
  std::vector<ModelRecord> landed_;
  std::uint64_t clock_ = 0;
};

}  // namespace txbox::sim
