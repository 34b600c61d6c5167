#include <txbox/kafka/consumer.hpp>

#include <algorithm>
#include <utility>

#include <txbox/base/check.hpp>
#include <txbox/base/error.hpp>
#include <txbox/kafka/errors.hpp>

#include "consumer_state.hpp"

namespace txbox::kafka {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

int to_ms(milliseconds timeout) {
  constexpr std::int64_t kMax = 3'600'000;
  return static_cast<int>(std::clamp<std::int64_t>(timeout.count(), 0, kMax));
}

milliseconds until(steady_clock::time_point end) { return std::chrono::ceil<milliseconds>(end - steady_clock::now()); }

void require(rd_kafka_resp_err_t error, ErrorCode code, const std::string& what) {
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) throw Error(code, "kafka consumer: " + what + ": " + describe(error));
}

/// After a fatal error librdkafka refuses everything; poll() tells why.
void require_unless_fatal(rd_kafka_resp_err_t error, const std::string& what) {
  if (error != RD_KAFKA_RESP_ERR__FATAL) require(error, ErrorCode::failure, what);
}

/// Returns when librdkafka has ended the reading of what its last assignment no longer holds. Assigning anew before
/// that would end the same partition twice, which aborts the process (an assertion on rktp_started; librdkafka #5573,
/// still there in 2.15). The orders to end, their answers and this question go through one queue of its main thread,
/// first in first out: when the first question is answered the orders were carried out, after the second also their
/// answers.
void wait_until_ended(rd_kafka_t* client) {
  constexpr int kQuestions = 2;
  for (int asked = 0; asked < kQuestions; ++asked) {
    rd_kafka_topic_partition_list_t* assigned = nullptr;
    if (rd_kafka_assignment(client, &assigned) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
    const TopicPartitionsHandle owner(assigned);
  }
}

void check_metadata(const CommittedOffset& commit) {
  TXBOX_CHECK(commit.offset >= 0);
  // Kafka's protocol would carry it, librdkafka's C string would cut it without a word.
  if (commit.metadata.find('\0') != std::string::npos) {
    throw Error(ErrorCode::invalid_argument, "kafka consumer: the text of a committed offset contains a NUL byte");
  }
}

/// Called while commit_and_wait() waits, and never later: its queue is gone then.
void on_waited_commit(rd_kafka_t*, rd_kafka_resp_err_t error, rd_kafka_topic_partition_list_t* list,
                      void* opaque) noexcept {
  const bool one = list != nullptr && list->cnt == 1;
  *static_cast<std::optional<int>*>(opaque) = one && list->elems[0].err != 0 ? list->elems[0].err : error;
}

std::int64_t ask_offset(rd_kafka_t* client, const Place& place, std::int64_t which, milliseconds timeout) {
  const std::string what = "asking where topic " + place.topic + " [" + std::to_string(place.partition) + "] " +
                           (which == RD_KAFKA_OFFSET_BEGINNING ? "begins" : "ends");
  const Position question{.place = place, .offset = which};
  const TopicPartitionsHandle list = to_list(std::span<const Position>(&question, 1));
  // rd_kafka_query_watermark_offsets() would do both at once, but overruns its timeout (librdkafka #4460).
  require(rd_kafka_offsets_for_times(client, list.get(), to_ms(timeout)), ErrorCode::broker_unavailable, what);
  require(list->elems[0].err, ErrorCode::broker_unavailable, what);
  if (list->elems[0].offset < 0) throw Error(ErrorCode::broker_unavailable, "kafka consumer: " + what + ": no answer");
  return list->elems[0].offset;
}

}  // namespace

Consumer::Consumer(const ConsumerOptions& options) : state_(std::make_unique<State>(options)) {}

Consumer::~Consumer() = default;

void Consumer::subscribe(const std::vector<std::string>& topics) {
  std::vector<Place> places;
  places.reserve(topics.size());
  for (const std::string& topic : topics) places.push_back({.topic = topic});
  require_unless_fatal(rd_kafka_subscribe(state_->client.get(), to_list(std::span<const Place>(places)).get()),
                       "subscribing");
}

std::optional<ConsumerEvent> Consumer::poll(milliseconds timeout) {
  State& state = *state_;
  const bool waits = timeout > milliseconds(0);
  const steady_clock::time_point end = waits ? steady_clock::now() + timeout : steady_clock::time_point();
  if (state.waker.due()) state.waker.wake(state.client.get(), state.queue.get());
  while (state.events.empty()) {
    MessageHandle message(rd_kafka_consumer_poll(state.client.get(), to_ms(timeout)));
    if (state.failure) std::rethrow_exception(std::exchange(state.failure, nullptr));
    if (message) {
      if (std::optional<ConsumerEvent> event = state.to_event(std::move(message))) return event;
    } else if (state.events.empty()) {
      return std::nullopt;
    }
    if (waits) timeout = until(end);
  }
  ConsumerEvent event = std::move(state.events.front());
  state.events.pop_front();
  return event;
}

void Consumer::assign(std::span<const Position> positions) {
  for (const Position& position : positions) TXBOX_CHECK(position.offset >= 0);
  // A partition that is paused inside librdkafka would stay so without a word.
  state_->resume_all();
  require_unless_fatal(rd_kafka_assign(state_->client.get(), to_list(positions).get()), "taking partitions");
  wait_until_ended(state_->client.get());
  state_->set_book(positions);
}

void Consumer::unassign() {
  state_->resume_all();
  require_unless_fatal(rd_kafka_assign(state_->client.get(), nullptr), "giving partitions back");
  wait_until_ended(state_->client.get());
  state_->set_book({});
}

void Consumer::pause(const Place& place) {
  State::Reading* reading = state_->find(place.topic, place.partition);
  if (reading == nullptr || reading->paused) return;
  rd_kafka_pause_partitions(state_->client.get(), to_list(std::span<const Place>(&place, 1)).get());
  reading->paused = true;
}

void Consumer::resume(const Place& place) {
  State::Reading* reading = state_->find(place.topic, place.partition);
  if (reading == nullptr || !reading->paused) return;
  rd_kafka_resume_partitions(state_->client.get(), to_list(std::span<const Place>(&place, 1)).get());
  reading->paused = false;
  FetchWaker::wake_for(state_->client.get(), place);
}

void Consumer::commit(const CommittedOffset& commit) {
  check_metadata(commit);
  const rd_kafka_resp_err_t error = rd_kafka_commit(state_->client.get(), to_list(commit).get(), 1);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    state_->events.emplace_back(consumer_event::CommitFailed{.commit = commit, .error = error});
  }
}

int Consumer::commit_and_wait(const CommittedOffset& commit, milliseconds timeout) {
  check_metadata(commit);
  // A queue of its own: librdkafka's synchronous commit has no timeout. And a callback of its own: the client's one
  // would be called too.
  const QueueHandle queue(rd_kafka_queue_new(state_->client.get()));
  std::optional<int> result;
  const rd_kafka_resp_err_t error =
      rd_kafka_commit_queue(state_->client.get(), to_list(commit).get(), queue.get(), on_waited_commit, &result);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return error;
  const steady_clock::time_point end = steady_clock::now() + timeout;
  while (!result && steady_clock::now() < end) rd_kafka_queue_poll_callback(queue.get(), to_ms(until(end)));
  return result.value_or(RD_KAFKA_RESP_ERR__TIMED_OUT);
}

std::vector<CommittedOffset> Consumer::committed(std::span<const Place> places, milliseconds timeout) {
  std::vector<CommittedOffset> result;
  if (places.empty()) return result;
  const TopicPartitionsHandle list = to_list(places);
  const std::string what = "asking for committed offsets";
  require(rd_kafka_committed(state_->client.get(), list.get(), to_ms(timeout)), ErrorCode::broker_unavailable, what);
  for (const rd_kafka_topic_partition_t& entry : std::span(list->elems, static_cast<std::size_t>(list->cnt))) {
    require(entry.err, ErrorCode::broker_unavailable, what + " of topic " + entry.topic);
    result.push_back(to_committed(entry));
  }
  return result;
}

Consumer::Watermarks Consumer::watermarks(const Place& place, milliseconds timeout) {
  const steady_clock::time_point end = steady_clock::now() + timeout;
  rd_kafka_t* client = state_->client.get();
  return {.low = ask_offset(client, place, RD_KAFKA_OFFSET_BEGINNING, timeout),
          .high = ask_offset(client, place, RD_KAFKA_OFFSET_END, until(end))};
}

std::string Consumer::cluster_id(milliseconds timeout) {
  char* id = rd_kafka_clusterid(state_->client.get(), to_ms(timeout));
  if (id == nullptr) return {};
  std::string copy(id);
  rd_kafka_mem_free(state_->client.get(), id);
  return copy;
}

}  // namespace txbox::kafka
