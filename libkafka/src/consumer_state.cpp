#include "consumer_state.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include <txbox/base/error.hpp>
#include <txbox/kafka/errors.hpp>

#include "log_level.hpp"

namespace txbox::kafka {
namespace {

using std::chrono::steady_clock;

/// Leaving the group is a courtesy to the others: without it they wait for the session's timeout.
constexpr std::chrono::milliseconds kCloseMax(3'000);
constexpr int kCloseGlanceMs = 100;

std::string text_of(const char* text) { return text != nullptr ? text : ""; }

}  // namespace

TopicPartitionsHandle to_list(std::span<const Place> places) {
  TopicPartitionsHandle list(rd_kafka_topic_partition_list_new(static_cast<int>(places.size())));
  for (const Place& place : places) {
    rd_kafka_topic_partition_list_add(list.get(), place.topic.c_str(), place.partition);
  }
  return list;
}

TopicPartitionsHandle to_list(std::span<const Position> positions) {
  TopicPartitionsHandle list(rd_kafka_topic_partition_list_new(static_cast<int>(positions.size())));
  for (const Position& position : positions) {
    rd_kafka_topic_partition_list_add(list.get(), position.place.topic.c_str(), position.place.partition)->offset =
        position.offset;
  }
  return list;
}

TopicPartitionsHandle to_list(const CommittedOffset& commit) {
  TopicPartitionsHandle list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_t* entry =
      rd_kafka_topic_partition_list_add(list.get(), commit.place.topic.c_str(), commit.place.partition);
  entry->offset = commit.offset;
  // The list frees it.
  entry->metadata = strdup(commit.metadata.c_str());
  if (entry->metadata == nullptr) throw std::bad_alloc();
  entry->metadata_size = commit.metadata.size();
  return list;
}

std::vector<Place> to_places(const rd_kafka_topic_partition_list_t* list) {
  std::vector<Place> places;
  if (list == nullptr) return places;
  for (const rd_kafka_topic_partition_t& entry : std::span(list->elems, static_cast<std::size_t>(list->cnt))) {
    places.push_back({.topic = entry.topic, .partition = entry.partition});
  }
  return places;
}

CommittedOffset to_committed(const rd_kafka_topic_partition_t& entry) {
  const std::string_view metadata =
      entry.metadata == nullptr ? std::string_view()
                                : std::string_view(static_cast<const char*>(entry.metadata), entry.metadata_size);
  return {.place = {.topic = entry.topic, .partition = entry.partition},
          .offset = std::max<std::int64_t>(entry.offset, -1),
          .metadata = std::string(metadata)};
}

Consumer::State::State(const ConsumerOptions& options, ConfigurationHandle configuration)
    : log(options.log), waker(configuration.get()) {
  rd_kafka_conf_set_opaque(configuration.get(), this);
  rd_kafka_conf_set_rebalance_cb(configuration.get(), on_rebalance);
  rd_kafka_conf_set_offset_commit_cb(configuration.get(), on_commit);
  rd_kafka_conf_set_error_cb(configuration.get(), on_error);
  rd_kafka_conf_set_log_cb(configuration.get(), on_log);
  std::array<char, 512> reason{};
  rd_kafka_t* made = rd_kafka_new(RD_KAFKA_CONSUMER, configuration.get(), reason.data(), reason.size());
  if (made == nullptr) throw Error(ErrorCode::configuration, std::string("kafka configuration: ") + reason.data());
  client = ClientHandle(made);
  static_cast<void>(configuration.release());
  rd_kafka_set_log_queue(made, nullptr);
  rd_kafka_poll_set_consumer(made);
  queue.reset(rd_kafka_queue_get_consumer(made));
}

Consumer::State::~State() {
  if (client) close();
}

Consumer::State::Reading* Consumer::State::find(std::string_view topic, std::int32_t partition) {
  const auto found = std::find_if(book.begin(), book.end(), [=](const Reading& reading) {
    return reading.place.partition == partition && reading.place.topic == topic;
  });
  return found == book.end() ? nullptr : &*found;
}

Consumer::State::Reading* Consumer::State::reading_of(const rd_kafka_message_t& message) {
  if (message.rkt == newest_topic && newest < book.size() && book[newest].place.partition == message.partition) {
    return &book[newest];
  }
  Reading* found = find(rd_kafka_topic_name(message.rkt), message.partition);
  if (found == nullptr) return nullptr;
  newest_topic = message.rkt;
  newest = static_cast<std::size_t>(found - book.data());
  return found;
}

void Consumer::State::resume_all() {
  std::vector<Place> paused;
  for (const Reading& reading : book) {
    if (reading.paused) paused.push_back(reading.place);
  }
  if (paused.empty()) return;
  rd_kafka_resume_partitions(client.get(), to_list(std::span<const Place>(paused)).get());
  for (Reading& reading : book) reading.paused = false;
}

void Consumer::State::set_book(std::span<const Position> positions) {
  waker.clear();
  book.clear();
  newest_topic = nullptr;
  for (const Position& position : positions) {
    book.push_back({.place = position.place, .next = position.offset});
    keep_queue(position.place);
  }
  revoked = false;
}

void Consumer::State::keep_queue(const Place& place) {
  QueueHandle& kept = queues[place];
  if (!kept) kept.reset(rd_kafka_queue_get_partition(client.get(), place.topic.c_str(), place.partition));
}

void Consumer::State::keep_for_close(const Place& place) {
  const auto found = queues.find(place);
  if (found == queues.end()) return;
  queues_of_missing.push_back(std::move(found->second));
  queues.erase(found);
}

std::optional<ConsumerEvent> Consumer::State::fatal_event() {
  if (std::exchange(fatal_said, true)) return std::nullopt;
  std::array<char, 512> text{};
  const rd_kafka_resp_err_t cause = rd_kafka_fatal_error(client.get(), text.data(), text.size());
  return consumer_event::Fatal{.error = cause, .reason = text.data()};
}

std::optional<ConsumerEvent> Consumer::State::to_error_event(const rd_kafka_message_t& message) {
  const std::string reason = text_of(rd_kafka_message_errstr(&message));
  switch (message.err) {
    case RD_KAFKA_RESP_ERR__FATAL: return fatal_event();
    case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED: return consumer_event::MaxPollExceeded{};
    default: break;
  }
  if (message.rkt == nullptr) return consumer_event::Trouble{.error = message.err, .text = reason};
  // What is said of a topic as a whole has no offset, and may have 0 for a partition.
  const bool whole_topic =
      message.partition < 0 || (message.partition == 0 && message.offset == RD_KAFKA_OFFSET_INVALID);
  Place place{.topic = rd_kafka_topic_name(message.rkt), .partition = whole_topic ? -1 : message.partition};
  if (whole_topic) {
    for (const Reading& reading : book) {
      if (reading.place.topic == place.topic) keep_for_close(reading.place);
    }
    return consumer_event::PlaceError{.place = std::move(place), .error = message.err, .reason = reason};
  }
  const Reading* reading = reading_of(message);
  if (reading == nullptr || revoked) return std::nullopt;
  switch (message.err) {
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
      return consumer_event::EndReached{.place = std::move(place), .offset = message.offset};
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
      // librdkafka's version barrier does not hold this one back: it may speak of the assignment before.
      if (message.offset >= 0 && message.offset < reading->next) return std::nullopt;
      return consumer_event::OutOfRange{.place = std::move(place), .offset = message.offset, .reason = reason};
    default:
      keep_for_close(place);
      return consumer_event::PlaceError{.place = std::move(place), .error = message.err, .reason = reason};
  }
}

std::optional<ConsumerEvent> Consumer::State::to_event(MessageHandle message) {
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) return to_error_event(*message);
  Reading* reading = reading_of(*message);
  // A record that comes in spite of a pause is handed over: librdkafka counts it as read and would go on behind it.
  if (reading == nullptr || revoked || message->offset < reading->next) return std::nullopt;
  reading->next = message->offset + 1;
  waker.consumed(reading->place, message->len + message->key_len);
  return consumer_event::Record{ConsumedRecord(message.release(), client)};
}

void Consumer::State::push(ConsumerEvent event) {
  events.push_back(std::move(event));
  rd_kafka_yield(client.get());
}

void Consumer::State::on_rebalance(rd_kafka_t* client, rd_kafka_resp_err_t error, rd_kafka_topic_partition_list_t* list,
                                   void* opaque) noexcept {
  auto& self = *static_cast<State*>(opaque);
  if (self.closing) {
    rd_kafka_assign(client, nullptr);
    return;
  }
  try {
    switch (error) {
      case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS: self.push(consumer_event::Assigned{.places = to_places(list)}); return;
      case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
        self.revoked = true;
        self.push(consumer_event::Revoked{.lost = rd_kafka_assignment_lost(client) != 0});
        return;
      default:
        // librdkafka waits for an answer to this one too.
        rd_kafka_assign(client, nullptr);
        self.push(consumer_event::Trouble{.error = error, .text = rd_kafka_err2str(error)});
    }
  } catch (...) {
    self.failure = std::current_exception();
  }
}

void Consumer::State::on_commit(rd_kafka_t*, rd_kafka_resp_err_t error, rd_kafka_topic_partition_list_t* list,
                                void* opaque) noexcept {
  auto& self = *static_cast<State*>(opaque);
  if (self.closing || list == nullptr) return;
  try {
    for (const rd_kafka_topic_partition_t& entry : std::span(list->elems, static_cast<std::size_t>(list->cnt))) {
      const rd_kafka_resp_err_t own = entry.err != RD_KAFKA_RESP_ERR_NO_ERROR ? entry.err : error;
      if (own == RD_KAFKA_RESP_ERR_NO_ERROR) continue;
      self.push(consumer_event::CommitFailed{.commit = to_committed(entry), .error = own});
    }
  } catch (...) {
    self.failure = std::current_exception();
  }
}

void Consumer::State::on_error(rd_kafka_t*, int error, const char* reason, void* opaque) noexcept {
  auto& self = *static_cast<State*>(opaque);
  // It accompanies every other error and says nothing by itself.
  if (self.closing || error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) return;
  try {
    if (error == RD_KAFKA_RESP_ERR__FATAL) {
      if (std::optional<ConsumerEvent> event = self.fatal_event()) self.push(std::move(*event));
      return;
    }
    self.push(consumer_event::Trouble{.error = error, .text = text_of(reason)});
  } catch (...) {
    self.failure = std::current_exception();
  }
}

void Consumer::State::on_log(const rd_kafka_t* client, int level, const char* facility, const char* text) noexcept {
  auto* self = static_cast<State*>(rd_kafka_opaque(client));
  if (self == nullptr || self->closing || !self->log) return;
  try {
    self->log(level_of(level, facility), std::string("librdkafka ") + facility + ": " + text);
  } catch (...) {
    self->failure = std::current_exception();
  }
}

void Consumer::State::leave() noexcept {
  // A fenced member has nothing to leave, and librdkafka's close would never return.
  if (rd_kafka_fatal_error(client.get(), nullptr, 0) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  rd_kafka_assign(client.get(), nullptr);
  const QueueHandle close_events(rd_kafka_queue_new(client.get()));
  if (rd_kafka_error_t* error = rd_kafka_consumer_close_queue(client.get(), close_events.get())) {
    rd_kafka_error_destroy(error);
    return;
  }
  const steady_clock::time_point end = steady_clock::now() + kCloseMax;
  while (rd_kafka_consumer_closed(client.get()) == 0 && steady_clock::now() < end) {
    const EventHandle event(rd_kafka_queue_poll(close_events.get(), kCloseGlanceMs));
    // On this queue a revocation is an event and no callback. Without an answer not even destroying would return.
    if (event && rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_REBALANCE) rd_kafka_assign(client.get(), nullptr);
  }
}

void Consumer::State::close() noexcept {
  closing = true;
  leave();
  for (auto& [place, kept] : queues) queues_of_missing.push_back(std::move(kept));
  // A queue whose partition still forwards to the consumer's own shows that one's events: nobody wants them any more.
  queues_of_missing.push_back(std::move(queue));
  for (const QueueHandle& kept : queues_of_missing) {
    while (const EventHandle unseen{kept ? rd_kafka_queue_poll(kept.get(), 0) : nullptr}) continue;
  }
  queues_of_missing.clear();
}

}  // namespace txbox::kafka
