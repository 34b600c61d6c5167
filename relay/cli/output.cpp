#include "relay/cli/output.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include <nlohmann/json.hpp>

#include <txbox/base/base64.hpp>
#include <txbox/base/utf8.hpp>

namespace txbox::relay {

namespace {

// Keys in the order of the contract, not of the alphabet.
using Json = nlohmann::ordered_json;

Json bytes_as_json(BytesView bytes) {
  if (bytes.is_null()) return nullptr;
  if (base::is_utf8(bytes.view())) return std::string(bytes.view());
  return Json{{"base64", base::base64_encode(bytes.view())}};
}

/// Text columns that are UTF-8 by contract; a file that breaks it is shown all the same.
Json text_as_json(const std::string& text) { return bytes_as_json(std::string_view(text)); }

template <typename Number>
Json optional_as_json(const std::optional<Number>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string bytes_as_text(BytesView bytes) { return bytes.is_null() ? "(null)" : printable(bytes.view()); }

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string shortened(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

}  // namespace

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

std::string row_as_json(const store::StatusRow& row, bool with_headers, bool with_payload) {
  Json json{
      {"id", row.id},
      {"event_id", text_as_json(row.event_id)},
      {"topic", text_as_json(row.topic)},
      {"key", bytes_as_json(row.key)},
      {"state", row.state},
      {"attempts", row.attempts},
      {"due_at", optional_as_json(row.due_at_ms)},
      {"last_error", row.last_error ? text_as_json(*row.last_error) : Json(nullptr)},
      {"partition", optional_as_json(row.partition)},
      {"offset", optional_as_json(row.offset)},
      {"created_at", row.created_at_ms},
      {"sent_at", optional_as_json(row.sent_at_ms)},
  };
  if (with_headers) json["headers"] = bytes_as_json(row.headers);
  if (with_payload) json["payload"] = bytes_as_json(row.payload);
  return json.dump();
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

double oldest_ready_seconds(const store::OutboxCounts& counts, std::int64_t now_ms) noexcept {
  if (!counts.oldest_ready_created_at_ms) return -1;
  // A writer's clock may be ahead of ours.
  return static_cast<double>(std::max<std::int64_t>(0, now_ms - *counts.oldest_ready_created_at_ms)) / 1000.0;
}

std::string counts_as_json(const store::OutboxCounts& counts, std::int64_t now_ms) {
  const double age = oldest_ready_seconds(counts, now_ms);
  const Json json{
      {"ready", counts.ready},
      {"scheduled", counts.scheduled},
      {"sent", counts.sent},
      {"parked", counts.parked},
      {"blocked", counts.blocked},
      {"waiting", counts.waiting},
      {"skipped", counts.skipped},
      {"oldest_ready_seconds", age < 0 ? Json(nullptr) : Json(age)},
      {"blocked_keys", counts.blocked_keys},
      {"newest_id", counts.newest_id},
      {"settled_through", counts.settled_through},
  };
  return json.dump();
}

std::string counts_as_text(const store::OutboxCounts& counts, std::int64_t now_ms) {
  const double age = oldest_ready_seconds(counts, now_ms);
  std::string text;
  const auto line = [&text](const char* name, std::int64_t value) {
    text += padded(name, 14) + std::to_string(value) + "\n";
  };
  line("ready", counts.ready);
  line("scheduled", counts.scheduled);
  line("sent", counts.sent);
  line("parked", counts.parked);
  line("blocked", counts.blocked);
  line("waiting", counts.waiting);
  line("skipped", counts.skipped);
  line("blocked keys", counts.blocked_keys);
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.1f s", age);
  text += padded("oldest ready", 14) + (age < 0 ? "-" : seconds.data()) + "\n";
  return text;
}

}  // namespace txbox::relay
