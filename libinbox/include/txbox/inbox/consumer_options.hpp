#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <txbox/base/log.hpp>
#include <txbox/inbox/message.hpp>
#include <txbox/inbox/outcome.hpp>

struct sqlite3;

namespace txbox::inbox {

/// Kafka holds an offset of this group that another database file wrote: that file has the history of what was applied.
/// A file that was deleted and made anew is another one too. To start over with an empty file use another group, or
/// stop every member and delete the group's offsets: `kafka-consumer-groups --delete --group NAME`.
enum class ForeignStore {
  stop,  ///< Error(foreign_store), naming both ways out: one file for the group, or static partitions per file.
  /// Go on where this file stands, else where Kafka does, and write this file's uuid there. A file without a position
  /// goes on at Kafka's offset: events before it are not applied to this file.
  take_over,
};

/// The group's offset in Kafka was changed by a person or another tool.
enum class GroupReset {
  ignore,  ///< The database decides, as ever; said once in the log.
  follow,  ///< Go to that offset, once. What was applied before stays a duplicate within the window.
};

/// The position is no longer, or not yet, in the topic: retention passed it, or the topic was made anew.
enum class OffsetOutOfRange {
  stop,      ///< The partition stands still with one line in the log, the others go on; drain() fails.
  earliest,  ///< Go on at the oldest record there is: what lay before is lost, and said.
  latest,    ///< Go on at the end: everything that is there now is skipped, and said.
};

/// Neither the database nor Kafka has a position for a partition.
enum class NoCommittedOffset {
  earliest,  ///< Everything that is there.
  latest,    ///< Only what comes from now on.
  stop,      ///< Error(offset_out_of_range).
};

/// A message without a usable event id: none of the id headers is there, or it is null, empty, longer than 255 bytes,
/// has a NUL, or is there twice with different values. Such messages are never folded together.
enum class MissingId {
  park,         ///< A dead letter, unseen by the handler.
  reject,       ///< Error(refused): the consumer stops in front of it.
  coordinates,  ///< Topic, partition and offset stand for the id: copies that a producer sent again are applied again.
};

/// Where messages go that were given up.
enum class DeadLetters {
  automatic,  ///< To topic `<topic>.dlq` through the outbox where the database has one at that moment, else parked.
  outbox,     ///< Through the outbox; Error(not_installed) from run() where the database has none.
  park,       ///< Into table `inbox_parked`, whole.
};

struct ConsumerOptions {
  std::string database = {};  ///< The SQLite file with the effects. Made, and set to WAL, where it is not there.
  std::string group = {};     ///< Kafka's consumer group and the inbox's: 1-255 bytes.
  /// librdkafka properties, with bootstrap.servers. One that breaks a promise (enable.auto.commit, ...) is refused.
  std::vector<std::pair<std::string, std::string>> kafka = {};

  /// Tries until a message becomes a dead letter. Tries that the process did not survive count, but for the first: it
  /// was part of an ordinary batch, and nothing tells afterwards which message of that ended the process. So one that
  /// always does is started `attempts` + 1 times at most. At least 1.
  int attempts = 5;
  /// The wait after a failed try: doubling from the first to the second, with jitter.
  std::chrono::milliseconds retry_delay{200};
  std::chrono::milliseconds retry_delay_max{30'000};

  /// Headers that may carry the event id; the first that is there decides.
  std::vector<std::string> id_headers = {"id"};
  MissingId missing_id = MissingId::park;
  ForeignStore foreign_store = ForeignStore::stop;
  GroupReset group_reset = GroupReset::ignore;
  OffsetOutOfRange offset_out_of_range = OffsetOutOfRange::stop;
  NoCommittedOffset no_committed_offset = NoCommittedOffset::earliest;
  DeadLetters dead_letters = DeadLetters::automatic;

  /// A transaction is closed after so many messages, or when it has held the write lock for so long, whichever comes
  /// first. Raise the second where nobody else writes to the file.
  std::size_t batch_messages = 500;
  std::chrono::milliseconds batch_lock_hold{20};
  /// Kafka is told of the position at most this often; what it does not know yet comes again and is a duplicate.
  std::chrono::milliseconds kafka_commit_interval{200};

  LogSink log = {};  ///< Called from the thread that runs the consumer.
};

/// Applies one message on `db`, which is inside an open transaction that holds the write lock: keep it short, and
/// leave COMMIT and ROLLBACK alone (savepoints are the handler's to use). What it writes commits together with the
/// claim, or is undone whole. Called once per event, however often its message comes, except after an attempt that did
/// not end with `done`.
using Handler = std::function<Outcome(sqlite3* db, const Message& message)>;

/// Slow work that a message needs (a call over the network, a file), outside of the transaction. Called before the
/// handler, possibly again for the same message; a throw is a failed attempt.
using Prepare = std::function<void(const Message& message)>;

}  // namespace txbox::inbox
