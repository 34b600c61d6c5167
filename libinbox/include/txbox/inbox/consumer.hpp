#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include <txbox/base/error.hpp>
#include <txbox/inbox/consumer_options.hpp>

struct sqlite3;

namespace txbox::inbox {

/// The whole consumer loop: reads topics as a member of a Kafka consumer group, and applies each event once to one
/// SQLite file. The claim of the event id, the handler's effect and the position in the topic commit in one
/// transaction, Kafka is told afterwards; so kills, rebalances, members that freeze and messages that come again change
/// nothing (docs/guarantees.md). Several processes may be members of one group with one file, and several consumers may
/// live in one process.
///
/// A class for one thread: construct, on(), run() and destroy on the same one, where the handlers are called too.
/// counts() may be called from any thread.
class Consumer {
 public:
  /// Since the construction; what was rolled back is not counted.
  struct Counts {
    std::int64_t applied = 0;
    std::int64_t duplicates = 0;     ///< Copies of events that were applied before: normal.
    std::int64_t retried = 0;        ///< Tries that failed or asked for another one.
    std::int64_t dead_lettered = 0;  ///< Messages that were given up: the sum of the next two.
    std::int64_t dead_letters_to_outbox = 0;
    std::int64_t dead_letters_parked = 0;  ///< Further copies of an event that is a dead letter already included.
    std::int64_t conflicts = 0;            ///< Batches undone because another member had the partition.
  };

  /// Opens the database, makes the file and the inbox's tables where they are missing, and checks every option. Talks
  /// to nobody yet. Errors: configuration (an option or a Kafka property), unsupported_file (hard links, a network file
  /// system, a file or folder that this user may not write), moved (no such folder), corrupt, and those of
  /// txbox::inbox::install.
  explicit Consumer(ConsumerOptions options);
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;
  ~Consumer();

  /// The connection that handlers are given: for tables of the application's own, txbox::outbox::install and Outbox,
  /// and functions of SQL. WAL, synchronous=FULL, foreign keys as SQLite has them; the application may change its
  /// pragmas, but run() refuses synchronous=OFF. Lives as long as the consumer; leave no transaction open.
  [[nodiscard]] sqlite3* database() const noexcept;

  /// Reads `topic` with this handler. Before run(); once a topic. Errors: invalid_argument.
  void on(std::string topic, Handler handler, Prepare prepare = {});

  /// Runs until a stop is requested (noticed within a tenth of a second, between messages), then finishes the batch,
  /// tells Kafka and leaves the group. An outage of Kafka, a locked database and a full disk are waited out and said in
  /// the log. May be called again. Throws what ends it: foreign_store, offset_out_of_range, configuration, refused
  /// (MissingId::reject), corrupt, moved, no_transaction (a handler ended the transaction it ran in), failure.
  void run(const std::stop_token& stop);

  /// As run(), and ends by itself once every partition that the group gave to this consumer was read to the end it had
  /// when it was given, with nothing left to retry. Waits for the assignment, however long the group takes.
  void drain(const std::stop_token& stop);

  [[nodiscard]] Counts counts() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::inbox
