#include "relay/cli/inbox_output.hpp"

#include <limits>
#include <vector>

#include "relay/cli/output.hpp"

namespace txbox::relay {

namespace {

constexpr std::size_t kClusterWidth = 24;  // Kafka's own ids have 22.
constexpr std::size_t kTopicWidth = 21;
constexpr std::size_t kNumberWidth = 11;
constexpr std::size_t kTimeWidth = 26;
constexpr std::size_t kEventWidth = 38;
constexpr std::size_t kNameWidth = 14;
constexpr std::size_t kFieldWidth = 12;

std::string cell(const std::string& text, std::size_t width) { return padded(shortened(text, width - 1), width); }
/// What a person may want to copy is never shortened.
std::string whole_cell(const std::string& text, std::size_t width) { return padded(text + " ", width); }
std::string number_cell(std::int64_t number, std::size_t width = kNumberWidth) {
  return whole_cell(std::to_string(number), width);
}
std::string text_or_dash(const std::optional<std::string>& text) { return text ? printable(*text) : "-"; }
std::string number_or_dash(const std::optional<std::int64_t>& number) { return number ? std::to_string(*number) : "-"; }
std::string time_or_dash(const std::optional<std::int64_t>& ms) { return ms ? to_iso_time(*ms) : "-"; }
std::string cluster_cell(const std::optional<std::string>& id) { return cell(text_or_dash(id), kClusterWidth); }

/// Both come from a file; whoever wrote them may have written anything.
std::int64_t attempts_of(const store::InboxSuspect& suspect) {
  std::int64_t sum = 0;
  const bool overflow = __builtin_add_overflow(suspect.started, suspect.failed, &sum);
  return overflow ? std::numeric_limits<std::int64_t>::max() : sum;
}

std::string claims_as_text(const store::InboxGroup& group) {
  return (group.claims_exact ? "" : "over ") + std::to_string(group.claims);
}

JsonObject position_object(const store::InboxPartition& place) {
  JsonObject json;
  json.text_or_null("cluster", place.cluster_id)
      .text("topic", place.topic)
      .number("partition", place.partition)
      .number("next_offset", place.next_offset)
      .truth("clean", place.clean)
      .number("reset_to", place.reset_to)
      .number("assignment", place.assignment)
      .number("updated_at", place.updated_at_ms);
  return json;
}

JsonObject suspect_object(const store::InboxSuspect& suspect) {
  JsonObject json;
  json.text_or_null("cluster", suspect.cluster_id)
      .text("topic", suspect.topic)
      .number("partition", suspect.partition)
      .number("offset", suspect.offset)
      .number("attempts", attempts_of(suspect))
      .number("started", suspect.started)
      .number("failed", suspect.failed)
      .text_or_null("last_error", suspect.last_error)
      .number("next_try_at", suspect.next_try_at_ms)
      .number("updated_at", suspect.updated_at_ms);
  return json;
}

JsonObject claim_object(const store::InboxClaimRow& claim) {
  JsonObject json;
  json.text("group", claim.group)
      .text("event_id", claim.event_id)
      .text("outcome", claim.given_up ? "given_up" : "applied")
      .text_or_null("cluster", claim.cluster_id)
      .text_or_null("topic", claim.topic)
      .number("partition", claim.partition)
      .number("offset", claim.offset)
      .number("processed_at", claim.processed_at_ms)
      .number("epoch", claim.epoch);
  return json;
}

JsonObject parked_object(const store::InboxParkedRow& row, bool with_payload) {
  JsonObject json;
  json.number("id", row.id)
      .text("group", row.group)
      .text_or_null("event_id", row.event_id)
      .text_or_null("cluster", row.cluster_id)
      .text("topic", row.topic)
      .number("partition", row.partition)
      .number("offset", row.offset)
      .bytes("key", row.key)
      .number("attempts", row.attempts)
      .text("reason", row.reason)
      .number("parked_at", row.parked_at_ms)
      .number("replayed_at", row.replayed_at_ms)
      .number("timestamp", row.timestamp_ms);
  if (with_payload) json.bytes("headers", row.headers).bytes("payload", row.payload);
  return json;
}

std::string positions_as_text(const store::InboxGroup& group) {
  std::string text = "\n  " + padded("CLUSTER", kClusterWidth) + padded("TOPIC", kTopicWidth) +
                     padded("PARTITION", kNumberWidth) + padded("NEXT_OFFSET", kNumberWidth + 2) +
                     padded("STATE", kNumberWidth) + "UPDATED\n";
  for (const store::InboxPartition& place : group.partition_list) {
    text += "  " + cluster_cell(place.cluster_id) + cell(printable(place.topic), kTopicWidth) +
            number_cell(place.partition) + number_cell(place.next_offset, kNumberWidth + 2) +
            padded(place.clean ? "clean" : "in hand", kNumberWidth) + to_iso_time(place.updated_at_ms) + "\n";
  }
  const auto left = group.partitions - static_cast<std::int64_t>(group.partition_list.size());
  if (left > 0) text += "  and " + std::to_string(left) + " more\n";
  return text;
}

std::string suspects_as_text(const store::InboxGroup& group) {
  std::string text = "\n  " + padded("CLUSTER", kClusterWidth) + padded("SUSPECT", kTopicWidth) +
                     padded("PARTITION", kNumberWidth) + padded("OFFSET", kNumberWidth + 2) +
                     padded("ATTEMPTS", kNumberWidth) + padded("NEXT_TRY", kTimeWidth) + "LAST_ERROR\n";
  for (const store::InboxSuspect& suspect : group.suspect_list) {
    text += "  " + cluster_cell(suspect.cluster_id) + cell(printable(suspect.topic), kTopicWidth) +
            number_cell(suspect.partition) + number_cell(suspect.offset, kNumberWidth + 2) +
            number_cell(attempts_of(suspect)) + padded(time_or_dash(suspect.next_try_at_ms), kTimeWidth) +
            text_or_dash(suspect.last_error) + "\n";
  }
  const auto left = group.suspects - static_cast<std::int64_t>(group.suspect_list.size());
  if (left > 0) text += "  and " + std::to_string(left) + " more\n";
  return text;
}

}  // namespace

JsonObject group_object(const store::InboxGroup& group) {
  JsonObject json;
  json.text("group", group.group)
      .number("claims", group.claims)
      .truth("claims_exact", group.claims_exact)
      .number("given_up", group.given_up)
      .number("newest_claim_at", group.newest_claim_at_ms)
      .number("parked", group.parked_messages)
      .number("suspects", group.suspects)
      .number("partitions", group.partitions)
      .number("in_hand", group.in_hand)
      .number("updated_at", group.updated_at_ms);
  return json;
}

std::string group_as_json(const store::InboxGroup& group) {
  std::vector<JsonObject> positions;
  for (const store::InboxPartition& place : group.partition_list) positions.push_back(position_object(place));
  std::vector<JsonObject> suspects;
  for (const store::InboxSuspect& suspect : group.suspect_list) suspects.push_back(suspect_object(suspect));
  return group_object(group).list("positions", positions).list("suspect_messages", suspects).str();
}

std::string group_as_line(const store::InboxGroup& group) {
  return printable(group.group) + ": claims " + claims_as_text(group) + ", given up " + std::to_string(group.given_up) +
         ", parked " + std::to_string(group.parked_messages) + ", suspects " + std::to_string(group.suspects) +
         ", partitions " + std::to_string(group.partitions) + " (" + std::to_string(group.in_hand) +
         " in hand), updated " + time_or_dash(group.updated_at_ms) + "\n";
}

std::string group_as_text(const store::InboxGroup& group) {
  std::string text;
  const auto line = [&text](const char* name, const std::string& value) {
    text += padded(name, kNameWidth) + value + "\n";
  };
  line("group", printable(group.group));
  line("claims", claims_as_text(group));
  line("given up", std::to_string(group.given_up));
  if (group.newest_claim_at_ms) line("newest claim", to_iso_time(*group.newest_claim_at_ms));
  line("parked", std::to_string(group.parked_messages));
  line("suspects", std::to_string(group.suspects));
  line("partitions", std::to_string(group.partitions) + ", " + std::to_string(group.in_hand) + " in hand");
  line("updated", time_or_dash(group.updated_at_ms));
  if (!group.partition_list.empty()) text += positions_as_text(group);
  if (!group.suspect_list.empty()) text += suspects_as_text(group);
  return text;
}

std::string claim_as_json(const store::InboxClaimRow& claim) { return claim_object(claim).str(); }

std::string claims_title() {
  return padded("EVENT_ID", kEventWidth) + padded("OUTCOME", kNumberWidth) + padded("TOPIC", kTopicWidth) +
         padded("PARTITION", kNumberWidth) + padded("OFFSET", kNumberWidth) + padded("PROCESSED", kTimeWidth) +
         "CLUSTER\n";
}

std::string claim_as_line(const store::InboxClaimRow& claim) {
  return whole_cell(printable(claim.event_id), kEventWidth) +
         padded(claim.given_up ? "given up" : "applied", kNumberWidth) + cell(text_or_dash(claim.topic), kTopicWidth) +
         whole_cell(number_or_dash(claim.partition), kNumberWidth) +
         whole_cell(number_or_dash(claim.offset), kNumberWidth) +
         padded(to_iso_time(claim.processed_at_ms), kTimeWidth) + text_or_dash(claim.cluster_id) + "\n";
}

std::string parked_as_json(const store::InboxParkedRow& row, bool with_payload) {
  return parked_object(row, with_payload).str();
}

std::string parked_title() {
  return padded("ID", kNumberWidth) + padded("TOPIC", kTopicWidth) + padded("PARTITION", kNumberWidth) +
         padded("OFFSET", kNumberWidth) + padded("ATTEMPTS", kNumberWidth) + padded("PARKED", kTimeWidth) +
         padded("KEY", kTopicWidth) + padded("EVENT_ID", kEventWidth) + "REASON\n";
}

std::string parked_as_line(const store::InboxParkedRow& row) {
  return number_cell(row.id) + cell(printable(row.topic), kTopicWidth) + number_cell(row.partition) +
         number_cell(row.offset) + number_cell(row.attempts) + padded(to_iso_time(row.parked_at_ms), kTimeWidth) +
         cell(bytes_as_text(row.key), kTopicWidth) + whole_cell(text_or_dash(row.event_id), kEventWidth) +
         printable(row.reason) + "\n";
}

std::string event_as_json(const EventReport& event, bool with_payload) {
  JsonObject json;
  if (event.row) {
    json = row_object(*event.row, true, with_payload);
  } else {
    json.text("event_id", event.event_id);
  }
  std::vector<JsonObject> claims;
  for (const store::InboxClaimRow& claim : event.inbox.claims) claims.push_back(claim_object(claim));
  std::vector<JsonObject> parked;
  for (const store::InboxParkedRow& row : event.inbox.parked) parked.push_back(parked_object(row, with_payload));
  json.list("inbox", claims).list("inbox_parked", parked);
  if (event.inbox.more) json.truth("more_in_inbox", true);
  return json.str();
}

std::string event_as_text(const EventReport& event, bool with_payload) {
  std::string text;
  const auto line = [&text](const char* name, const std::string& value) {
    text += padded(std::string(name) + ":", kFieldWidth) + value + "\n";
  };
  if (event.row) {
    text = row_as_text(*event.row, with_payload);
  } else {
    line("event_id", printable(event.event_id));
  }
  for (const store::InboxClaimRow& claim : event.inbox.claims) {
    std::string origin;
    if (claim.topic) {
      origin = " from " + printable(*claim.topic) + " " + number_or_dash(claim.partition) + " at " +
               number_or_dash(claim.offset);
    }
    if (claim.cluster_id) origin += " of cluster " + printable(*claim.cluster_id);
    if (claim.epoch > 0) origin += " in replay " + std::to_string(claim.epoch);
    line("inbox", printable(claim.group) + (claim.given_up ? " gave it up " : " applied it ") +
                      to_iso_time(claim.processed_at_ms) + origin);
  }
  for (const store::InboxParkedRow& row : event.inbox.parked) {
    line("inbox", printable(row.group) + " parked it " + to_iso_time(row.parked_at_ms) + " from " +
                      printable(row.topic) + " " + std::to_string(row.partition) + " at " + std::to_string(row.offset) +
                      " after " + std::to_string(row.attempts) + " attempts: " + printable(row.reason));
    if (!with_payload) continue;
    line("  key", bytes_as_text(row.key));
    line("  headers", bytes_as_text(row.headers));
    line("  payload", bytes_as_text(row.payload));
  }
  if (event.inbox.more) line("inbox", "and more");
  return text;
}

}  // namespace txbox::relay
