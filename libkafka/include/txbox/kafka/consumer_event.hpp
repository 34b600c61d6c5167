#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <txbox/base/bytes.hpp>
#include <txbox/base/headers.hpp>

struct rd_kafka_message_s;

namespace txbox::kafka {

struct Place {
  std::string topic;
  std::int32_t partition = -1;  ///< -1 where an error speaks of the whole topic.
  friend bool operator==(const Place&, const Place&) = default;
  friend bool operator<(const Place& a, const Place& b) {
    return a.topic != b.topic ? a.topic < b.topic : a.partition < b.partition;
  }
};

struct Position {
  Place place;
  std::int64_t offset = -1;  ///< Of the next record to read; an absolute one.
  friend bool operator==(const Position&, const Position&) = default;
};

/// An offset of a group as Kafka keeps it, with its text.
struct CommittedOffset {
  Place place;
  std::int64_t offset = -1;  ///< -1: none is committed.
  std::string metadata;  ///< Empty where a person or another tool committed. At most 4,096 bytes, no NUL among them.
  friend bool operator==(const CommittedOffset&, const CommittedOffset&) = default;
};

/// A record as Kafka holds it. It owns librdkafka's message, so nothing was copied; what it returns as views lives as
/// long as the record. A record may outlive later polls and the consumer itself, whose connections then go with the
/// last record: destroy records early, since even a small one may keep a whole fetched batch in memory (1 MB by
/// default). Movable; a moved-from record may only be assigned to or destroyed. Its calls belong to one thread.
class ConsumedRecord {
 public:
  /// Takes the message over; `client` is what must not be destroyed before it.
  ConsumedRecord(rd_kafka_message_s* message, std::shared_ptr<const void> client) noexcept;
  ConsumedRecord(ConsumedRecord&&) noexcept = default;
  ConsumedRecord& operator=(ConsumedRecord&& other) noexcept;
  ~ConsumedRecord() = default;

  [[nodiscard]] std::string_view topic() const noexcept;
  [[nodiscard]] std::int32_t partition() const noexcept;
  [[nodiscard]] Place place() const { return {.topic = std::string(topic()), .partition = partition()}; }
  [[nodiscard]] std::int64_t offset() const noexcept;
  [[nodiscard]] std::int64_t timestamp_ms() const noexcept;  ///< -1: none.
  [[nodiscard]] BytesView key() const noexcept;
  [[nodiscard]] BytesView payload() const noexcept;
  /// The value of the last header of that name, as Kafka's own lastHeader(); empty when there is none.
  [[nodiscard]] std::optional<BytesView> last_header(const std::string& name) const;
  [[nodiscard]] Headers headers() const;   ///< All of them in their order, copied.
  void copy_headers(Headers& into) const;  ///< As headers(), into the memory of what was there.

 private:
  struct Destroy {
    void operator()(rd_kafka_message_s* message) const noexcept;
  };
  std::shared_ptr<const void> client_;  ///< Declared first: it goes last.
  std::unique_ptr<rd_kafka_message_s, Destroy> message_;
};

namespace consumer_event {

struct Record {
  ConsumedRecord record;
};
/// The group gave these: the whole assignment, as eager groups do. Answer with assign(), also when it is empty.
struct Assigned {
  std::vector<Place> places;
};
/// The group takes everything back. Answer with unassign(); until then the others wait for this member. `lost`:
/// somebody else may have it already. It may be false in a zombie too, so nothing may rest on it.
struct Revoked {
  bool lost = false;
};
/// Nothing more is there now. `offset` is where the next record will be: markers of transactions are behind it, and so
/// are records of transactions that were aborted. A transaction that is open ends a partition for its readers.
struct EndReached {
  Place place;
  std::int64_t offset = -1;
};
/// The position is below what Kafka still has, or beyond its end. Said once; the partition then stands still until
/// assign() gives it another position.
struct OutOfRange {
  Place place;
  std::int64_t offset = -1;
  std::string reason;
};
/// A topic or partition cannot be read (missing, not authorized, ...): a state, which heals by itself or does not.
struct PlaceError {
  Place place;
  int error = 0;  ///< rd_kafka_resp_err_t; scope_of() tells what it speaks of.
  std::string reason;
};
/// Trouble of the client or the group: a hint about why there is silence. Never _ALL_BROKERS_DOWN.
struct Trouble {
  int error = 0;  ///< rd_kafka_resp_err_t.
  std::string text;
};
/// poll() was not called for max.poll.interval.ms; a Revoked{lost} follows.
struct MaxPollExceeded {};
/// This consumer is at its end (another process has its group.instance.id): destroy it. Comes once.
struct Fatal {
  int error = 0;  ///< rd_kafka_resp_err_t.
  std::string reason;
};
/// An asynchronous commit did not happen: a normal event, the records come again to whoever reads from there.
struct CommitFailed {
  CommittedOffset commit;
  int error = 0;  ///< rd_kafka_resp_err_t: UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS, ...
};

}  // namespace consumer_event

using ConsumerEvent =
    std::variant<consumer_event::Record, consumer_event::Assigned, consumer_event::Revoked, consumer_event::EndReached,
                 consumer_event::OutOfRange, consumer_event::PlaceError, consumer_event::Trouble,
                 consumer_event::MaxPollExceeded, consumer_event::Fatal, consumer_event::CommitFailed>;

}  // namespace txbox::kafka
