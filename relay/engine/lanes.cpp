#include "relay/engine/lanes.hpp"

#include <algorithm>

namespace txbox::relay {

std::vector<store::Lane> LaneTable::sorted() const {
  std::vector<store::Lane> lanes;
  lanes.reserve(entries_.size());
  for (const auto& [lane, entry] : entries_) lanes.push_back(lane);
  std::sort(lanes.begin(), lanes.end());
  return lanes;
}

void LaneTable::close(store::Lane lane, std::int64_t from, bool certain) {
  LaneEntry& entry = entries_[lane];
  if (!entry.closed) {
    entry.closed = true;
    entry.closed_from = from;
    entry.certain = certain;
    ++closed_;
    return;
  }
  entry.closed_from = std::min(entry.closed_from, from);
  entry.certain = entry.certain || certain;
}

void LaneTable::open(store::Lane lane) {
  LaneEntry* entry = find(lane);
  if (entry == nullptr || !entry->closed) return;
  entry->closed = false;
  entry->closed_from = 0;
  entry->certain = false;
  --closed_;
  forget_if_idle(lane);
}

}  // namespace txbox::relay
