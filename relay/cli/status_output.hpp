#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <txbox/store/inbox_queries.hpp>
#include <txbox/store/outbox_queries.hpp>
#include <txbox/store/schema.hpp>
#include <txbox/store/wal_readers.hpp>

#include "relay/engine/figures.hpp"

namespace txbox::relay {

class JsonObject;

/// What `status` knows of a file. A box that the file does not have counts nothing.
struct FileStatus {
  store::Boxes boxes;
  store::OutboxCounts counts;
  std::vector<store::InboxGroup> groups;  ///< Without details.
  bool more_groups = false;
  /// The process that holds the relay's lock on the file, where the kernel tells; null for none.
  std::optional<std::int64_t> relay_pid;
  std::int64_t wal_bytes = 0;
  std::optional<TroubleFigures> broker_trouble;  ///< Of that process with Kafka, where it may be known.
  std::vector<store::WalReader> wal_readers;     ///< Who pins the WAL for longer than a moment.
};

/// One object: the outbox's counts, then `inbox_groups`, and in `boxes` the boxes whose tables the file has,
/// `relay_pid`, `broker_trouble` (credentials, tls, unreachable, other or null) with `broker_trouble_text` and
/// `broker_trouble_since`, `wal_bytes` and `wal_readers`.
/// `now_ms` makes an age of the oldest ready row's time.
[[nodiscard]] std::string status_as_json(const FileStatus& status, std::int64_t now_ms);
/// The outbox's counts, as they stand at the beginning of it.
void add_counts(JsonObject& json, const store::OutboxCounts& counts, std::int64_t now_ms);
[[nodiscard]] std::string status_as_text(const FileStatus& status, std::int64_t now_ms);
/// Seconds since the oldest ready row was written; negative when there is none.
[[nodiscard]] double oldest_ready_seconds(const store::OutboxCounts& counts, std::int64_t now_ms) noexcept;
/// Rows of the outbox and messages of all consumer groups that wait for a person.
[[nodiscard]] std::int64_t parked_in_all(const FileStatus& status) noexcept;

}  // namespace txbox::relay
