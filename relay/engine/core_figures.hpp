#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "relay/engine/duration_histogram.hpp"

namespace txbox::relay {

/// A topic whose rows wait.
struct PausedTopic {
  std::string topic;
  std::string reason;  ///< Kafka's name and text.
};

/// No topic can have this name.
inline constexpr char kOtherTopics[] = "(other)";

/// What the core counted of one database since it was opened, where CoreOptions::measure is set.
struct DatabaseFigures {
  /// Rows whose acknowledgement was marked or is about to be, by topic, in the order in which the topics were first
  /// published to. More than a few are one, kOtherTopics.
  std::vector<std::pair<std::string, std::int64_t>> published;
  std::int64_t duplicates_possible = 0;
};

/// Likewise of all.
struct CoreFigures {
  DurationHistogram commit_to_ack;
  /// When the oldest row was committed, or due, that was handed over and is neither acknowledged nor held.
  std::optional<std::int64_t> oldest_unacknowledged_ms;
  std::vector<PausedTopic> paused_topics;
};

}  // namespace txbox::relay
