#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <txbox/base/log.hpp>
#include <txbox/kafka/consumer_event.hpp>
#include <txbox/kafka/settings.hpp>

namespace txbox::kafka {

struct ConsumerOptions {
  std::string group;
  Properties properties;  ///< Come after our defaults; checked as check_consumer_properties() does.
  LogSink log;
};

/// A member of a consumer group, with no policy of its own: it reads where it is told to and commits what it is told
/// to. All calls from one thread, which must come back to poll() within max.poll.interval.ms. Calls that wait for
/// Kafka serve no events meanwhile.
class Consumer {
 public:
  explicit Consumer(const ConsumerOptions& options);  ///< Throws configuration. Does not wait for a broker.
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;
  /// Leaves the group (a static member does not): in a few seconds at most, or in socket.timeout.ms (10 s) when a
  /// broker that has an unanswered commit is silent. Commits that are under way may be lost; commit_and_wait() before.
  /// The client's threads go with it, or with the last record of it that is alive.
  ~Consumer();

  void subscribe(const std::vector<std::string>& topics);

  /// At most one event; waits for up to `timeout` when there is none, and 0 only looks. An event that is no record
  /// ends the waiting at once. Records come from assigned places only, and each with a higher offset than the one
  /// before it in its place. One of a paused place is taken like any other: librdkafka goes on behind it.
  [[nodiscard]] std::optional<ConsumerEvent> poll(std::chrono::milliseconds timeout);

  /// Reads exactly these places from exactly these offsets, instead of all that was assigned before; also outside of a
  /// rebalance, to give a place another position. No place is paused afterwards. REQUIRES: offsets are not negative.
  void assign(std::span<const Position> positions);
  void unassign();

  /// Nothing of the place comes until resume(), which goes on behind the last record that poll() returned. Both do
  /// nothing where there is nothing to do, and for places that are not assigned.
  void pause(const Place& place);
  void resume(const Place& place);

  /// Returns at once; a failure comes as CommitFailed. Kafka takes any offset, lower ones too.
  void commit(const CommittedOffset& commit);
  /// 0, or the rd_kafka_resp_err_t; _TIMED_OUT: it may have happened or not.
  [[nodiscard]] int commit_and_wait(const CommittedOffset& commit, std::chrono::milliseconds timeout);

  /// What the group has committed, in the order of `places`. Throws broker_unavailable.
  [[nodiscard]] std::vector<CommittedOffset> committed(std::span<const Place> places,
                                                       std::chrono::milliseconds timeout);

  struct Watermarks {
    std::int64_t low = -1;   ///< The oldest offset that Kafka still has.
    std::int64_t high = -1;  ///< Where a reader of committed records ends now: an open transaction ends it earlier.
  };
  /// Throws broker_unavailable.
  [[nodiscard]] Watermarks watermarks(const Place& place, std::chrono::milliseconds timeout);

  /// The cluster's id; empty when not known within the timeout.
  [[nodiscard]] std::string cluster_id(std::chrono::milliseconds timeout);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::kafka
