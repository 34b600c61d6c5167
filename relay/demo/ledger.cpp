#include "relay/demo/ledger.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace txbox::relay::demo {
namespace {

struct AccountProgress {
  std::size_t newest = 0;       ///< Commit position of the newest first occurrence.
  std::int32_t partition = -1;  ///< None yet.
};

std::vector<const PublishedEvent*> in_log_order(std::span<const PublishedEvent> events) {
  std::vector<const PublishedEvent*> sorted;
  sorted.reserve(events.size());
  for (const PublishedEvent& event : events) sorted.push_back(&event);
  std::sort(sorted.begin(), sorted.end(), [](const PublishedEvent* a, const PublishedEvent* b) {
    return std::tie(a->partition, a->offset) < std::tie(b->partition, b->offset);
  });
  return sorted;
}

}  // namespace

Balance balance_of(const Ledger& ledger, std::span<const PublishedEvent> events) {
  Balance balance;
  balance.committed = static_cast<std::int64_t>(ledger.committed.size());
  balance.rolled_back = ledger.rolled_back;
  balance.records = static_cast<std::int64_t>(events.size());

  std::unordered_map<std::string_view, std::size_t> position_of;
  std::unordered_map<std::string_view, AccountProgress> accounts;
  for (std::size_t i = 0; i < ledger.committed.size(); ++i) {
    position_of.emplace(ledger.committed[i].event_id, i);
    accounts.try_emplace(ledger.committed[i].account);
  }
  balance.accounts = static_cast<std::int64_t>(accounts.size());

  std::vector<bool> seen(ledger.committed.size(), false);
  for (const PublishedEvent* event : in_log_order(events)) {
    const auto found = position_of.find(event->event_id);
    if (found == position_of.end()) {
      ++balance.invented;
      continue;
    }
    const std::size_t position = found->second;
    const CommittedOrder& order = ledger.committed[position];
    if (event->key != Bytes(order.account) || event->payload != Bytes(order.payload)) ++balance.altered;
    if (seen[position]) {
      ++balance.duplicates;
      balance.copies += event->copied ? 1 : 0;
      continue;
    }
    seen[position] = true;
    ++balance.published;
    // An account lives in one partition; only there does Kafka keep an order that a consumer could see.
    AccountProgress& progress = accounts[order.account];
    const bool moved = progress.partition != -1 && progress.partition != event->partition;
    const bool overtaken = progress.partition != -1 && position < progress.newest;
    if (moved || overtaken) ++balance.out_of_order;
    progress.partition = event->partition;
    progress.newest = std::max(progress.newest, position);
  }
  balance.lost = balance.committed - balance.published;
  return balance;
}

}  // namespace txbox::relay::demo
