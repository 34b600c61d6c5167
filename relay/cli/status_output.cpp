#include "relay/cli/status_output.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string_view>

#include "relay/cli/inbox_output.hpp"
#include "relay/cli/output.hpp"

namespace txbox::relay {

namespace {

constexpr std::size_t kNameWidth = 14;

std::string counts_as_text(const store::OutboxCounts& counts, std::int64_t now_ms) {
  const double age = oldest_ready_seconds(counts, now_ms);
  std::string text;
  const auto line = [&text](const char* name, std::int64_t value) {
    text += padded(name, kNameWidth) + std::to_string(value) + "\n";
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
  text += padded("oldest ready", kNameWidth) + (age < 0 ? "-" : seconds.data()) + "\n";
  return text;
}

std::string groups_as_text(const FileStatus& status) {
  std::string text = padded("inbox groups", kNameWidth) + std::to_string(status.groups.size()) +
                     (status.more_groups ? " and more" : "") + "\n";
  for (const store::InboxGroup& group : status.groups) text += "  " + group_as_line(group);
  return text;
}

std::string wal_as_text(const FileStatus& status) {
  std::string text = padded("WAL", kNameWidth) + std::to_string(status.wal_bytes) + " bytes\n";
  for (const store::WalReader& reader : status.wal_readers)
    text += "  " + printable(text_of(reader)) + " and pins " + std::to_string(reader.pinned_bytes) + " bytes of it\n";
  return text;
}

std::optional<std::string> kind_of(const std::optional<TroubleFigures>& trouble) {
  return trouble ? std::optional(std::string(to_string(trouble->kind))) : std::nullopt;
}

std::vector<JsonObject> reader_objects(const std::vector<store::WalReader>& readers) {
  std::vector<JsonObject> objects;
  for (const store::WalReader& reader : readers) {
    JsonObject object;
    object.number("pid", reader.pid).text("program", reader.program).number("pinned_bytes", reader.pinned_bytes);
    objects.push_back(std::move(object));
  }
  return objects;
}

}  // namespace

double oldest_ready_seconds(const store::OutboxCounts& counts, std::int64_t now_ms) noexcept {
  if (!counts.oldest_ready_created_at_ms) return -1;
  // A writer's clock may be ahead of ours.
  return static_cast<double>(std::max<std::int64_t>(0, now_ms - *counts.oldest_ready_created_at_ms)) / 1000.0;
}

std::int64_t parked_in_all(const FileStatus& status) noexcept {
  std::int64_t parked = status.counts.parked;
  for (const store::InboxGroup& group : status.groups) parked += group.parked_messages;
  return parked;
}

void add_counts(JsonObject& json, const store::OutboxCounts& counts, std::int64_t now_ms) {
  const double age = oldest_ready_seconds(counts, now_ms);
  json.number("ready", counts.ready)
      .number("scheduled", counts.scheduled)
      .number("sent", counts.sent)
      .number("parked", counts.parked)
      .number("blocked", counts.blocked)
      .number("waiting", counts.waiting)
      .number("skipped", counts.skipped)
      .real("oldest_ready_seconds", age < 0 ? std::nullopt : std::optional(age))
      .number("blocked_keys", counts.blocked_keys)
      .number("newest_id", counts.newest_id)
      .number("settled_through", counts.settled_through);
}

std::string status_as_json(const FileStatus& status, std::int64_t now_ms) {
  std::vector<JsonObject> groups;
  for (const store::InboxGroup& group : status.groups) groups.push_back(group_object(group));
  std::vector<std::string_view> boxes;
  if (status.boxes.outbox) boxes.emplace_back("outbox");
  if (status.boxes.inbox) boxes.emplace_back("inbox");
  const std::optional<TroubleFigures>& trouble = status.broker_trouble;
  JsonObject json;
  add_counts(json, status.counts, now_ms);
  json.list("inbox_groups", groups)
      .truth("more_inbox_groups", status.more_groups)
      .words("boxes", boxes)
      .number("relay_pid", status.relay_pid)
      .text_or_null("broker_trouble", kind_of(status.broker_trouble))
      .text_or_null("broker_trouble_text", trouble ? std::optional(trouble->text) : std::nullopt)
      .number("broker_trouble_since", trouble ? std::optional(to_ms(trouble->since)) : std::nullopt)
      .number("wal_bytes", status.wal_bytes)
      .list("wal_readers", reader_objects(status.wal_readers));
  return json.str();
}

std::string status_as_text(const FileStatus& status, std::int64_t now_ms) {
  std::string text =
      status.boxes.outbox ? counts_as_text(status.counts, now_ms) : padded("outbox", kNameWidth) + "none\n";
  text += status.boxes.inbox ? groups_as_text(status) : padded("inbox", kNameWidth) + "none\n";
  text += wal_as_text(status);
  if (status.relay_pid) text += padded("relay", kNameWidth) + "pid " + std::to_string(*status.relay_pid) + "\n";
  if (status.broker_trouble) text += padded("Kafka", kNameWidth) + printable(status.broker_trouble->text) + "\n";
  return text;
}

}  // namespace txbox::relay
