#include "libinbox/src/consumer/positions.hpp"

#include <string_view>

namespace txbox::inbox::consumer {

namespace {

using Loaded = event::PositionsLoaded::Loaded;

constexpr std::string_view kFamily = "txbox";  // The number after it is the format's; the uuid stays where it is.

enum class Writer : std::uint8_t { nobody, this_store, other_store, somebody };

std::string uuid_in(std::string_view metadata) {
  const auto from = metadata.find(':');
  if (from == std::string_view::npos) return {};
  const std::string_view rest = metadata.substr(from + 1);
  return std::string(rest.substr(0, rest.find(':')));
}

Writer writer_of(const CoreOptions& options, const Loaded& loaded) {
  if (!loaded.committed) return Writer::nobody;
  const std::string& metadata = loaded.committed->metadata;
  if (!metadata.starts_with(kFamily)) return Writer::somebody;
  return uuid_in(metadata) == options.store_uuid ? Writer::this_store : Writer::other_store;
}

std::string number(std::int64_t value) { return std::to_string(value); }

void say(Start& start, LogLevel level, std::string text) { start.words.push_back({level, std::move(text)}); }

Start failed(ErrorCode code, std::string text) {
  Start start;
  start.kind = Start::Kind::fail;
  start.code = code;
  start.text = std::move(text);
  return start;
}

Start foreign(const CoreOptions& options, const Loaded& loaded) {
  return failed(
      ErrorCode::foreign_store,
      "group " + options.group + " belongs to another database: its offset of " + name_of(loaded.place) +
          " was committed by the store " + uuid_in(loaded.committed->metadata) + ", this one is " + options.store_uuid +
          ". Only that file knows what was applied. Let every member of the group use one file, or give each "
          "file a group or static partitions of its own. foreign_store = take_over goes on with this file: at "
          "Kafka's offset where this file has none of its own, so that earlier events are not applied to it. "
          "To start over with an empty file use another group, or stop every member and delete the group's "
          "offsets: kafka-consumer-groups --bootstrap-server HOST:PORT --delete --group " +
          options.group);
}

void person_reset(const CoreOptions& options, const Loaded& loaded, Start& start) {
  const std::int64_t stored = loaded.stored->next_offset;
  const std::int64_t asked = loaded.committed->offset;
  start.commit_first = true;
  start.settle_reset = loaded.stored->reset_to.value_or(-1) >= 0;
  if (loaded.stored->reset_to == asked) return;  // Followed in an earlier life, which could not tell Kafka any more.
  const std::string what = name_of(loaded.place) + ": the group's offset in Kafka was reset to " + number(asked) +
                           " by a person or another tool; the database stands at " + number(stored);
  if (options.group_reset == GroupReset::ignore) {
    say(start, LogLevel::warning, what + " and decides (group_reset = follow would go there)");
    return;
  }
  say(start, LogLevel::warning, what + " and follows");
  start.offset = asked;
  start.set_next = asked;
  start.reset_to = asked;
  start.settle_reset = true;
}

Start from_store(const CoreOptions& options, const Loaded& loaded, Writer writer) {
  Start start;
  start.offset = loaded.stored->next_offset;
  switch (writer) {
    case Writer::nobody:
      if (start.offset > loaded.low) {
        say(start, LogLevel::warning,
            name_of(loaded.place) + ": Kafka has no offset of group " + options.group + ", the database stands at " +
                number(start.offset) +
                " and decides. Kafka forgets a group that was away for long, and a topic that is deleted: was the "
                "topic "
                "made anew, then its records before that position are not read");
      }
      break;
    case Writer::this_store:
      if (loaded.stored->reset_to.value_or(-1) >= 0) start.reset_to = -1;
      if (loaded.committed->offset > start.offset) {
        start.commit_first = true;
        say(start, LogLevel::warning,
            name_of(loaded.place) + ": Kafka has offset " + number(loaded.committed->offset) +
                " of this very store, the database stands at " + number(start.offset) +
                ": the file is an older copy of itself, or lost its newest commits; going on where it stands");
      }
      break;
    case Writer::other_store:
      start.commit_first = true;
      say(start, LogLevel::warning,
          name_of(loaded.place) + ": taken over from the store " + uuid_in(loaded.committed->metadata) + " at " +
              number(start.offset) + ", where this database stands");
      break;
    case Writer::somebody: person_reset(options, loaded, start); break;
  }
  return start;
}

Start without_store(const CoreOptions& options, const Loaded& loaded, Writer writer) {
  Start start;
  if (loaded.committed) {
    start.offset = loaded.committed->offset;
    start.commit_first = writer != Writer::this_store;
    if (writer == Writer::somebody) {
      // Remembered like a reset that was followed: until Kafka has this store's word, its offset looks like one.
      start.reset_to = start.offset;
      start.settle_reset = true;
    }
    say(start, LogLevel::info,
        name_of(loaded.place) + ": the database has no position; starting at the group's offset in Kafka, " +
            number(start.offset));
  } else {
    const std::string what =
        name_of(loaded.place) + ": neither the database nor Kafka has a position of group " + options.group;
    if (options.no_committed_offset == NoCommittedOffset::stop) {
      return failed(ErrorCode::offset_out_of_range,
                    what + "; set the group's offset, or choose no_committed_offset = earliest or latest");
    }
    const bool earliest = options.no_committed_offset == NoCommittedOffset::earliest;
    start.offset = earliest ? loaded.low : loaded.high;
    say(start, LogLevel::info,
        what + "; starting at the " + (earliest ? "earliest" : "latest") + " record, " + number(start.offset));
  }
  start.set_next = start.offset;
  return start;
}

void check_range(const CoreOptions& options, const Loaded& loaded, Start& start) {
  if (start.offset >= loaded.low && start.offset <= loaded.high) return;
  const std::string what = name_of(loaded.place) + ": position " + number(start.offset) +
                           " is not in the topic, which has " + number(loaded.low) + " to " + number(loaded.high);
  if (options.offset_out_of_range == OffsetOutOfRange::stop) {
    start.kind = Start::Kind::stand_still;
    say(start, LogLevel::error,
        what +
            ": the partition stands still. Records may be lost, or the topic was made anew; choose "
            "offset_out_of_range = earliest or latest to go on");
    return;
  }
  const bool earliest = options.offset_out_of_range == OffsetOutOfRange::earliest;
  start.offset = earliest ? loaded.low : loaded.high;
  start.set_next = start.offset;
  start.commit_first = true;
  say(start, LogLevel::error,
      what + ": going on at the " + (earliest ? "earliest" : "latest") + " record, " + number(start.offset) +
          "; what stood between is not applied");
}

}  // namespace

Start decide_start(const CoreOptions& options, const Loaded& loaded) {
  const Writer writer = writer_of(options, loaded);
  if (writer == Writer::other_store && options.foreign_store == ForeignStore::stop) return foreign(options, loaded);
  Start start = loaded.stored ? from_store(options, loaded, writer) : without_store(options, loaded, writer);
  if (start.kind == Start::Kind::run) check_range(options, loaded, start);
  return start;
}

std::string commit_metadata(const CoreOptions& options) {
  return "txbox1:" + options.store_uuid + ":" + std::to_string(options.incarnation);
}

std::string name_of(const Place& place) { return place.topic.text() + "[" + std::to_string(place.partition) + "]"; }

}  // namespace txbox::inbox::consumer
