#include <map>

#include "world.hpp"

namespace txbox::sim {

namespace {

std::map<std::uint64_t, std::uint64_t> first_landings(const ModelBroker& broker) {
  std::map<std::uint64_t, std::uint64_t> first;
  for (const ModelRecord& record : broker.landed()) first.try_emplace(record.nonce, record.landed_at);
  return first;
}

/// P2: in Kafka, or in sight; retention takes no other row than those that are in Kafka or were given up.
void nothing_lost(const World& world, const ModelStore& store, const std::map<std::uint64_t, std::uint64_t>& landed) {
  for (const auto& [id, row] : store.pruned()) {
    if (!landed.contains(row.nonce) && !world.let_go.contains(row.nonce))
      violated("P2: retention deleted row " + std::to_string(id) + ", which is not in Kafka");
    if (!world.retention()) violated("retention deletes where everything is kept");
  }
  for (const auto& [id, row] : store.rows()) {
    const bool sent = store.receipts().contains(id);
    if (sent && !landed.contains(row.nonce))
      violated("P2: row " + std::to_string(id) + " has a receipt and is not in Kafka");
    if (!sent && !store.held().contains(id)) violated("P2: row " + std::to_string(id) + " is neither sent nor held");
  }
}

/// P4: first occurrences per lane in commit order, and none before an earlier row of the lane, unless that row was let
/// go.
void in_order(const World& world, relay::DatabaseIndex index, const std::map<std::uint64_t, std::uint64_t>& landed) {
  struct Seen {
    std::uint64_t latest = 0;
    std::int64_t missing = 0;
  };
  std::map<store::Lane, Seen> lanes;
  std::map<std::int64_t, ModelRow> all = world.stores()[index].rows();
  all.insert(world.stores()[index].pruned().begin(), world.stores()[index].pruned().end());
  for (const auto& [id, row] : all) {
    const auto lane = row.lane();
    if (!lane || world.let_go.contains(row.nonce) || world.raced.contains({index, *lane})) continue;
    if (world.let_keys_go() && world.deserved.contains(row.nonce)) continue;
    Seen& seen = lanes[*lane];
    const auto found = landed.find(row.nonce);
    if (found == landed.end()) {
      if (seen.missing == 0) seen.missing = id;
      continue;
    }
    if (seen.missing != 0)
      violated("P4: row " + std::to_string(id) + " is in Kafka before row " + std::to_string(seen.missing));
    if (found->second < seen.latest) violated("P4: row " + std::to_string(id) + " came before its predecessor");
    seen.latest = found->second;
  }
}

/// Only what Kafka or a person refused is parked; the innocent of a refused batch are not.
void parked_with_reason(const World& world, const ModelStore& store) {
  for (const auto& [id, held] : store.held()) {
    if (held.state != store::HeldState::parked || held.by_person) continue;
    if (!world.deserved.contains(store.rows().at(id).nonce))
      violated("row " + std::to_string(id) + " is parked without a reason");
    if (held.last_error.empty()) violated("row " + std::to_string(id) + " is parked without a word");
  }
}

void receipts_agree(const ModelStore& store, relay::DatabaseIndex index, const ModelBroker& broker) {
  std::map<std::uint64_t, std::map<std::int32_t, int>> where;
  for (const ModelRecord& record : broker.landed()) {
    if (record.database == index) ++where[record.nonce][record.partition];
  }
  for (const auto& [id, receipt] : store.receipts()) {
    if (!where[receipt.nonce_prefix].contains(receipt.partition)) {
      violated("the receipt of row " + std::to_string(id) + " names a partition where it is not");
    }
  }
}

/// Duplicates are promised to be rare, and without any trouble there are none.
void no_repeats(const ModelBroker& broker) {
  std::map<std::uint64_t, int> times;
  for (const ModelRecord& record : broker.landed()) {
    if (++times[record.nonce] > 1) violated("row " + std::to_string(record.row) + " was sent twice for no reason");
  }
}

}  // namespace

void judge(const World& world) {
  const auto landed = first_landings(world.broker());
  if (world.calm()) no_repeats(world.broker());
  for (std::size_t index = 0; index < world.stores().size(); ++index) {
    const ModelStore& store = world.stores()[index];
    const auto number = static_cast<relay::DatabaseIndex>(index);
    store.check_invariants();
    nothing_lost(world, store, landed);
    in_order(world, number, landed);
    parked_with_reason(world, store);
    receipts_agree(store, number, world.broker());
  }
}

}  // namespace txbox::sim
