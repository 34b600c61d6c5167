#pragma once

#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <txbox/kafka/consumer.hpp>

#include "consumer_configuration.hpp"
#include "fetch_waker.hpp"
#include "handles.hpp"

namespace txbox::kafka {

/// Everything that librdkafka's callbacks reach. They run inside poll() and the destructor, on the caller's thread.
struct Consumer::State {
  explicit State(const ConsumerOptions& options) : State(options, consumer_configuration(options)) {}
  State(const ConsumerOptions& options, ConfigurationHandle configuration);
  ~State();

  /// One assigned place. The book is our own: librdkafka does not tell what is paused, and takes a partition that is
  /// not paused back to where its assignment began when it is asked to resume it.
  struct Reading {
    Place place;
    std::int64_t next = -1;  ///< The lowest offset that may come.
    bool paused = false;
  };
  [[nodiscard]] Reading* find(std::string_view topic, std::int32_t partition);
  [[nodiscard]] Reading* reading_of(const rd_kafka_message_t& message);
  void resume_all();
  void keep_queue(const Place& place);
  void keep_for_close(const Place& place);
  void set_book(std::span<const Position> positions);

  /// What a message of librdkafka says; nothing for one of an assignment that is over.
  [[nodiscard]] std::optional<ConsumerEvent> to_event(MessageHandle message);
  [[nodiscard]] std::optional<ConsumerEvent> to_error_event(const rd_kafka_message_t& message);
  [[nodiscard]] std::optional<ConsumerEvent> fatal_event();
  /// Keeps an event of a callback, which must be seen before any later record, and ends librdkafka's waiting.
  void push(ConsumerEvent event);
  void leave() noexcept;
  void close() noexcept;

  static void on_rebalance(rd_kafka_t* client, rd_kafka_resp_err_t error, rd_kafka_topic_partition_list_t* list,
                           void* opaque) noexcept;
  static void on_commit(rd_kafka_t* client, rd_kafka_resp_err_t error, rd_kafka_topic_partition_list_t* list,
                        void* opaque) noexcept;
  static void on_error(rd_kafka_t* client, int error, const char* reason, void* opaque) noexcept;
  static void on_log(const rd_kafka_t* client, int level, const char* facility, const char* text) noexcept;

  LogSink log;
  std::deque<ConsumerEvent> events;  ///< Of callbacks; never a record, since each of them ends librdkafka's poll.
  std::exception_ptr failure;        ///< What a callback could not throw; poll() does.
  bool closing = false;
  bool fatal_said = false;
  std::vector<Reading> book;  ///< What is assigned.
  bool revoked = false;       ///< The group took it back, and unassign() or assign() has not answered yet.
  /// Records come in runs of one partition.
  const rd_kafka_topic_t* newest_topic = nullptr;
  std::size_t newest = 0;
  FetchWaker waker;
  std::shared_ptr<rd_kafka_t> client;  ///< Shared with the records.
  QueueHandle queue;                   ///< What poll() serves.
  /// The partitions' own queues. When a topic was deleted, what is left in them when its reading stops would keep them
  /// and their partition for ever, and destroying would never return (librdkafka #4187, before 2.1). So close() empties
  /// them, and it can only by handles from before.
  std::map<Place, QueueHandle> queues;
  std::vector<QueueHandle> queues_of_missing;  ///< Whose topic may come back with partitions of its own.
};

/// Places as librdkafka wants them.
[[nodiscard]] TopicPartitionsHandle to_list(std::span<const Place> places);
[[nodiscard]] TopicPartitionsHandle to_list(std::span<const Position> positions);
/// One entry with its metadata.
[[nodiscard]] TopicPartitionsHandle to_list(const CommittedOffset& commit);
[[nodiscard]] std::vector<Place> to_places(const rd_kafka_topic_partition_list_t* list);
[[nodiscard]] CommittedOffset to_committed(const rd_kafka_topic_partition_t& entry);

}  // namespace txbox::kafka
