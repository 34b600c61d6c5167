#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <txbox/kafka/consumer.hpp>

namespace txbox::test {

/// A consumer that answers its group as a simple application would: it reads every place that it is given from `start`,
/// or from where it was before, and keeps what came. Tests look at the fields. One thread.
class KafkaMember {
 public:
  struct Seen {
    kafka::Place place;
    std::int64_t offset = -1;
    std::string payload;
  };

  explicit KafkaMember(const kafka::ConsumerOptions& options) : consumer(std::in_place, options) {}

  /// Polls once and acts on what came; whether anything did.
  bool step(std::chrono::milliseconds timeout = std::chrono::milliseconds(20)) {
    std::optional<kafka::ConsumerEvent> event = consumer->poll(timeout);
    if (!event) return false;
    std::visit([this](auto& what) { act(what); }, *event);
    return true;
  }

  /// Steps until `done`; fails the test when that takes too long.
  void await(const std::function<bool()>& done, std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    while (!done() && std::chrono::steady_clock::now() < end) step();
    REQUIRE(done());
  }
  void await_records(std::size_t count) {
    await([&] { return records.size() >= count; });
  }
  /// Everything that comes within the time; for what must not come, which no event announces.
  void step_for(std::chrono::milliseconds duration) {
    const auto end = std::chrono::steady_clock::now() + duration;
    while (std::chrono::steady_clock::now() < end) step();
  }

  [[nodiscard]] std::vector<std::int64_t> offsets(std::int32_t partition = 0) const {
    std::vector<std::int64_t> result;
    for (const Seen& seen : records) {
      if (seen.place.partition == partition) result.push_back(seen.offset);
    }
    return result;
  }

  std::optional<kafka::Consumer> consumer;
  std::map<kafka::Place, std::int64_t> start;  ///< Where to read from; 0 for places that are not here.
  std::vector<kafka::Place> assigned;
  std::vector<Seen> records;
  std::map<kafka::Place, std::int64_t> ends;
  std::vector<kafka::consumer_event::OutOfRange> out_of_range;
  std::vector<kafka::consumer_event::PlaceError> place_errors;
  std::vector<kafka::consumer_event::Trouble> troubles;
  std::vector<kafka::consumer_event::Fatal> fatal;
  std::vector<kafka::consumer_event::CommitFailed> commits_failed;
  int assignments = 0;
  int revocations = 0;
  int lost = 0;
  int polls_exceeded = 0;

 private:
  void act(kafka::consumer_event::Record& event) {
    const kafka::ConsumedRecord& record = event.record;
    start[record.place()] = record.offset() + 1;
    records.push_back(
        {.place = record.place(), .offset = record.offset(), .payload = std::string(record.payload().view())});
  }
  void act(kafka::consumer_event::Assigned& event) {
    ++assignments;
    assigned = event.places;
    std::vector<kafka::Position> positions;
    for (const kafka::Place& place : assigned) {
      const auto found = start.find(place);
      positions.push_back({.place = place, .offset = found == start.end() ? 0 : found->second});
    }
    consumer->assign(positions);
  }
  void act(kafka::consumer_event::Revoked& event) {
    ++revocations;
    if (event.lost) ++lost;
    assigned.clear();
    consumer->unassign();
  }
  void act(kafka::consumer_event::EndReached& event) { ends[event.place] = event.offset; }
  void act(kafka::consumer_event::OutOfRange& event) { out_of_range.push_back(event); }
  void act(kafka::consumer_event::PlaceError& event) { place_errors.push_back(event); }
  void act(kafka::consumer_event::Trouble& event) { troubles.push_back(event); }
  void act(kafka::consumer_event::MaxPollExceeded&) { ++polls_exceeded; }
  void act(kafka::consumer_event::Fatal& event) { fatal.push_back(event); }
  void act(kafka::consumer_event::CommitFailed& event) { commits_failed.push_back(event); }
};

}  // namespace txbox::test
