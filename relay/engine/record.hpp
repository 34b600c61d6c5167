#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <txbox/base/headers.hpp>
#include <txbox/kafka/producer.hpp>
#include <txbox/store/outbox_reader.hpp>

namespace txbox::relay {

/// The headers of the record that a row becomes: the row's own in their order, then the event id,
/// `txbox-created-at` and, on a row that a person retried, `txbox-redriven`. A row marked as_is (a dead
/// letter, which carries its id already) gets none added. Reused from row to row so that a steady relay allocates
/// next to nothing. Single-threaded.
class RecordHeaders {
 public:
  explicit RecordHeaders(std::string id_header) : id_header_(std::move(id_header)) {}

  /// Valid until the next call and as long as the row. nullopt when the row is no record: its headers are not
  /// the JSON of the write contract, or its nonce or time, which make up the event id, are malformed (a
  /// writer that bypassed the guards).
  [[nodiscard]] std::optional<std::span<const kafka::HeaderView>> of(const store::OutboxRow& row);

 private:
  bool add_event_id(const store::OutboxRow& row);

  std::string id_header_;
  std::string event_id_;
  char created_at_[24] = {};
  Headers own_;
  std::vector<kafka::HeaderView> views_;
};

}  // namespace txbox::relay
