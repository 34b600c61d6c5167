#pragma once

#include <optional>
#include <string>

#include <txbox/store/inbox_queries.hpp>
#include <txbox/store/outbox_queries.hpp>

#include "relay/cli/json_object.hpp"

namespace txbox::relay {

/// How the inbox looks on stdout, by the rules of output.hpp: nothing that lies in a row can break the JSON or drive a
/// terminal.

/// A group's numbers; `positions` and `suspect_messages` where the group was read with details.
[[nodiscard]] JsonObject group_object(const store::InboxGroup& group);
[[nodiscard]] std::string group_as_json(const store::InboxGroup& group);
/// The numbers on one line, for `status`.
[[nodiscard]] std::string group_as_line(const store::InboxGroup& group);
/// The numbers, the partitions and the suspects, each a line.
[[nodiscard]] std::string group_as_text(const store::InboxGroup& group);

[[nodiscard]] std::string claim_as_json(const store::InboxClaimRow& claim);
[[nodiscard]] std::string claims_title();
[[nodiscard]] std::string claim_as_line(const store::InboxClaimRow& claim);

/// Headers come with the payload.
[[nodiscard]] std::string parked_as_json(const store::InboxParkedRow& row, bool with_payload);
[[nodiscard]] std::string parked_title();
[[nodiscard]] std::string parked_as_line(const store::InboxParkedRow& row);

/// What a file knows of one event, for `show`.
struct EventReport {
  std::string event_id;
  std::optional<store::StatusRow> row;
  store::InboxEvent inbox;
};
/// One object: the outbox row's fields where there is one, then `inbox`, a claim each, and `inbox_parked`.
[[nodiscard]] std::string event_as_json(const EventReport& event, bool with_payload);
[[nodiscard]] std::string event_as_text(const EventReport& event, bool with_payload);

}  // namespace txbox::relay
