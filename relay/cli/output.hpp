#pragma once

#include <string>

#include <txbox/base/bytes.hpp>
#include <txbox/store/outbox_queries.hpp>

namespace txbox::relay {

/// How rows and counts look on stdout. JSON: bytes that are UTF-8 become a string, others
/// `{"base64":"..."}`, null stays null, so that nothing that lies in a row can make the output invalid or be
/// mistaken for something else. Text for people: control characters and what is not UTF-8 are escaped (`\x1b`), so
/// that no key can drive a terminal.

[[nodiscard]] std::string printable(std::string_view bytes);
/// 2026-01-31T10:00:00.123Z
[[nodiscard]] std::string to_iso_time(std::int64_t ms);

/// One JSON object on one line, with the fields of outbox_status; `headers` and `payload` where asked for.
[[nodiscard]] std::string row_as_json(const store::StatusRow& row, bool with_headers, bool with_payload);
/// One `name: value` a line.
[[nodiscard]] std::string row_as_text(const store::StatusRow& row, bool with_payload);
/// The header and one line a row for `ls`.
[[nodiscard]] std::string list_title();
[[nodiscard]] std::string row_as_line(const store::StatusRow& row);

/// What `status` shows; `now_ms` makes an age of the oldest ready row's time.
[[nodiscard]] std::string counts_as_json(const store::OutboxCounts& counts, std::int64_t now_ms);
[[nodiscard]] std::string counts_as_text(const store::OutboxCounts& counts, std::int64_t now_ms);
/// Seconds since the oldest ready row was written; negative when there is none.
[[nodiscard]] double oldest_ready_seconds(const store::OutboxCounts& counts, std::int64_t now_ms) noexcept;

}  // namespace txbox::relay
