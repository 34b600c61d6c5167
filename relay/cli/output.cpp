#include "relay/cli/output.hpp"

#include <array>
#include <cstdio>
#include <ctime>

#include <txbox/base/utf8.hpp>

namespace txbox::relay {

std::string bytes_as_text(BytesView bytes) { return bytes.is_null() ? "(null)" : printable(bytes.view()); }

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string shortened(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

std::string printable(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = base::utf8_sequence_length(bytes);
    const auto byte = static_cast<unsigned char>(bytes.front());
    // U+0080..U+009F are control characters too: C2 80 to C2 9F.
    const bool control =
        byte < 0x20 || byte == 0x7F || (length == 2 && byte == 0xC2 && static_cast<unsigned char>(bytes[1]) < 0xA0);
    if (length == 0 || control) {
      std::array<char, 8> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\x%02x", byte);
      text += escaped.data();
      bytes.remove_prefix(1);
    } else {
      text += bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
  }
  return text;
}

std::string to_iso_time(std::int64_t ms) {
  std::time_t seconds = ms / 1000;
  std::int64_t rest = ms % 1000;
  if (rest < 0) {
    rest += 1000;
    --seconds;
  }
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return std::to_string(ms);
  std::array<char, 64> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data() + length, text.size() - length, ".%03dZ", static_cast<int>(rest));
  return text.data();
}

JsonObject row_object(const store::StatusRow& row, bool with_headers, bool with_payload) {
  JsonObject json;
  json.number("id", row.id)
      .text("event_id", row.event_id)
      .text("topic", row.topic)
      .bytes("key", row.key)
      .text("state", row.state)
      .number("attempts", row.attempts)
      .number("due_at", row.due_at_ms)
      .text_or_null("last_error", row.last_error)
      .number("partition", row.partition)
      .number("offset", row.offset)
      .number("created_at", row.created_at_ms)
      .number("sent_at", row.sent_at_ms);
  if (with_headers) json.bytes("headers", row.headers);
  if (with_payload) json.bytes("payload", row.payload);
  return json;
}

std::string row_as_json(const store::StatusRow& row, bool with_headers, bool with_payload) {
  return row_object(row, with_headers, with_payload).str();
}

std::string row_as_text(const store::StatusRow& row, bool with_payload) {
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? std::to_string(*value) : std::string("-");
  };
  const auto time = [](const std::optional<std::int64_t>& value) {
    return value ? to_iso_time(*value) : std::string("-");
  };
  std::string text;
  const auto line = [&text](const char* name, const std::string& value) {
    text += padded(std::string(name) + ":", 12) + value + "\n";
  };
  line("id", std::to_string(row.id));
  line("event_id", printable(row.event_id));
  line("topic", printable(row.topic));
  line("key", bytes_as_text(row.key));
  line("state", row.state);
  line("attempts", std::to_string(row.attempts));
  line("due_at", time(row.due_at_ms));
  line("last_error", row.last_error ? printable(*row.last_error) : "-");
  line("partition", number(row.partition));
  line("offset", number(row.offset));
  line("created_at", to_iso_time(row.created_at_ms));
  line("sent_at", time(row.sent_at_ms));
  line("headers", bytes_as_text(row.headers));
  if (with_payload) line("payload", bytes_as_text(row.payload));
  return text;
}

std::string list_title() {
  return padded("ID", 10) + padded("STATE", 11) + padded("TOPIC", 21) + padded("KEY", 21) + padded("EVENT_ID", 38) +
         padded("CREATED", 26) + "LAST_ERROR\n";
}

std::string row_as_line(const store::StatusRow& row) {
  return padded(std::to_string(row.id) + " ", 10) + padded(row.state, 11) +
         padded(shortened(printable(row.topic), 20), 21) + padded(shortened(bytes_as_text(row.key), 20), 21) +
         padded(printable(row.event_id) + " ", 38) + padded(to_iso_time(row.created_at_ms), 26) +
         (row.last_error ? printable(*row.last_error) : "-") + "\n";
}

}  // namespace txbox::relay
