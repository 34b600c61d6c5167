#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <txbox/base/bytes.hpp>
#include <txbox/store/outbox_queries.hpp>

#include "relay/cli/json_object.hpp"

namespace txbox::relay {

/// How rows look on stdout. JSON: as JsonObject writes it, so that nothing that lies in a row can make the output
/// invalid or be mistaken for something else. Text for people: control characters and what is not UTF-8 are escaped
/// (`\x1b`), so that no key can drive a terminal.

[[nodiscard]] std::string printable(std::string_view bytes);
/// `(null)`, or printable().
[[nodiscard]] std::string bytes_as_text(BytesView bytes);
/// At least `width` bytes, by spaces behind it.
[[nodiscard]] std::string padded(std::string text, std::size_t width);
/// At most `width` bytes, the last three then `...`.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t width);
/// 2026-01-31T10:00:00.123Z
[[nodiscard]] std::string to_iso_time(std::int64_t ms);

/// One JSON object on one line, with the fields of outbox_status; `headers` and `payload` where asked for.
[[nodiscard]] JsonObject row_object(const store::StatusRow& row, bool with_headers, bool with_payload);
[[nodiscard]] std::string row_as_json(const store::StatusRow& row, bool with_headers, bool with_payload);
/// One `name: value` a line.
[[nodiscard]] std::string row_as_text(const store::StatusRow& row, bool with_payload);
/// The header and one line a row for `ls`.
[[nodiscard]] std::string list_title();
[[nodiscard]] std::string row_as_line(const store::StatusRow& row);

}  // namespace txbox::relay
