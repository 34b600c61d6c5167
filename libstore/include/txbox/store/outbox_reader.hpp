#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <txbox/base/bytes.hpp>
#include <txbox/store/connection.hpp>
#include <txbox/store/held_state.hpp>
#include <txbox/store/lane.hpp>

namespace txbox::store {

/// One row as the relay needs it. Views point into the RowBatch and live until its next clear().
struct OutboxRow {
  std::int64_t id = 0;
  /// The nonce's first 8 bytes, big-endian: what receipts and held rows carry. 0 for a malformed nonce.
  std::uint64_t nonce_prefix = 0;
  /// All 10 bytes; empty when the row's nonce is malformed (such a row is parked).
  std::string_view nonce;
  std::string_view event_id;  ///< The application's, empty when null.
  std::string_view topic;
  std::optional<std::int32_t> partition;
  BytesView key;
  BytesView payload;
  BytesView headers;  ///< JSON text, null for none.
  std::int64_t created_at_ms = 0;
  std::optional<std::int64_t> deliver_at_ms;
  bool as_is = false;
  bool sent = false;              ///< A receipt with a matching nonce stands in the same snapshot.
  std::optional<HeldState> held;  ///< The held row's state in the same snapshot.
  std::optional<Lane> held_lane;  ///< The lane stored with the held row.
  std::int32_t attempts = 0;      ///< From the held row.
  /// A person retried it: header txbox-redriven. Its lane is held_lane, and none where its key had gone on.
  bool redriven = false;
  /// key + payload + headers as they are in the row.
  [[nodiscard]] std::size_t record_bytes() const noexcept { return key.size() + payload.size() + headers.size(); }
};

/// Rows and the memory behind them; reused from batch to batch so that a steady relay allocates nothing.
class RowBatch {
 public:
  RowBatch();
  ~RowBatch();
  RowBatch(RowBatch&&) noexcept;
  RowBatch& operator=(RowBatch&&) noexcept;
  void clear() noexcept;
  [[nodiscard]] const std::vector<OutboxRow>& rows() const noexcept { return rows_; }

 private:
  friend class OutboxReader;
  struct Arena;
  std::vector<OutboxRow> rows_;
  std::unique_ptr<Arena> arena_;
};

struct ReadLimits {
  std::int64_t rows = 2000;
  std::int64_t bytes = 4 << 20;  ///< At least one row is always read, however large.
};

struct ReadResult {
  bool exhausted = false;      ///< No row beyond the last one returned existed in the snapshot.
  std::int64_t newest_id = 0;  ///< max(id) in the snapshot, 0 for an empty table.
};

/// What a start (or a return after tools wrote) needs to know, in one snapshot.
struct LaneLoad {
  Lane lane;
  std::int64_t held = 0;        ///< Rows of the lane in outbox_held that are not skipped.
  bool stands_at_head = false;  ///< The first of them is parked or waits: nothing behind it can be released.
};
struct Progress {
  std::int64_t settled_through = 0;
  std::int64_t pruned_through = 0;
  std::int64_t newest_id = 0;
};

/// Reads the outbox for the relay on a connection of purpose `relay`. Single-threaded. Every call is one
/// snapshot, leaves no statement open, and starts with the checks of P9: HAS_MOVED (moved), the anchor
/// (restored: the newest row read before must still be there with its nonce, and settled_through <= max(id)),
/// and, when schema_version moved, the schema's text (schema_differs); next_due_ms(), waiting_topics() and
/// newest_deed(), after which nothing is produced, check HAS_MOVED only. The constructor throws not_installed.
class OutboxReader {
 public:
  explicit OutboxReader(Connection& connection);
  OutboxReader(const OutboxReader&) = delete;
  OutboxReader& operator=(const OutboxReader&) = delete;
  ~OutboxReader();

  [[nodiscard]] Progress progress();
  [[nodiscard]] std::vector<LaneLoad> held_lanes();
  /// The newest line of txbox_audit, 0 for none: rises whenever a person did something to rows. Costs one descent,
  /// where held_lanes() walks over all that is held.
  [[nodiscard]] std::int64_t newest_deed();

  /// Rows with id > after in id order, each with its receipt's and held row's state. A receipt or held row whose
  /// nonce does not match throws restored (I6).
  ReadResult read_after(std::int64_t after, const ReadLimits& limits, RowBatch& out);

  /// Held rows in state ready with id > after, in id order, that no earlier held, unskipped row of their lane
  /// stands before (other than ready ones), and no id above `scanned_through` (I4).
  ReadResult read_ready(std::int64_t after, std::int64_t scanned_through, const ReadLimits& limits, RowBatch& out);

  /// When the earliest scheduled row is due; nullopt when none is.
  [[nodiscard]] std::optional<std::int64_t> next_due_ms();
  /// Topics of held rows in state waiting.
  [[nodiscard]] std::vector<std::string> waiting_topics();

  /// Makes all that was read durable before it may be produced: xSync of the WAL, without the write lock.
  /// Throws corrupt when the sync fails (then nothing of it may be produced).
  void barrier();

  /// PRAGMA data_version: moves when another connection committed. Cheap.
  [[nodiscard]] std::int64_t data_version();

  /// What moves when anybody writes to the file, by SQLite or past it.
  struct Version {
    std::int64_t data_version = 0;
    std::int64_t file_bytes = 0;
    std::int64_t changed_at_ns = 0;
    friend bool operator==(const Version&, const Version&) = default;
  };
  /// Needs nothing that rest() gives back, and leaves nothing in memory at rest. Checks HAS_MOVED.
  [[nodiscard]] Version version();

  /// Gives back all memory that a database at rest can do without: prepared statements, the parsed schema, cached
  /// pages, together some 200 KiB. data_version() needs none of them; the next other call makes them again, in about a
  /// millisecond. Throws failure when memory runs out.
  void rest();

  /// The newest row that was read and barriered; the witness file holds the same.
  struct Anchor {
    std::int64_t id = 0;
    std::uint64_t nonce_prefix = 0;
  };
  [[nodiscard]] Anchor anchor() const noexcept;
  void set_anchor(const Anchor& anchor) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::store
