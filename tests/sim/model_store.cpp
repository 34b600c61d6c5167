#include "model_store.hpp"

#include <algorithm>
#include <stdexcept>

namespace txbox::sim {

using store::HeldState;

void violated(const std::string& what) { throw std::logic_error(what); }

std::optional<store::Lane> ModelRow::lane() const {
  if (!key || deliver_at_ms) return std::nullopt;
  return store::lane_of(topic, partition, *key);
}

void ModelStore::commit(ModelRow row) {
  row.id = newest() + 1;
  now_.rows.emplace(row.id, std::move(row));
}

relay::event::DatabaseOpened ModelStore::open() const {
  relay::event::DatabaseOpened opened;
  opened.progress = {now_.settled_through, 0, newest()};
  std::map<store::Lane, store::LaneLoad> lanes;
  for (const auto& [id, held] : now_.held) {
    if (held.lane && held.state != HeldState::skipped) {
      const bool stands = held.state == HeldState::parked || held.state == HeldState::waiting;
      ++lanes.try_emplace(*held.lane, store::LaneLoad{*held.lane, 0, stands}).first->second.held;
    }
    if (held.state == HeldState::waiting) opened.waiting_topics.push_back(now_.rows.at(id).topic);
    if (held.state == HeldState::scheduled) {
      opened.next_due_ms = std::min(opened.next_due_ms.value_or(*held.due_at_ms), *held.due_at_ms);
    }
  }
  for (const auto& [lane, load] : lanes) opened.held_lanes.push_back(load);
  std::sort(opened.waiting_topics.begin(), opened.waiting_topics.end());
  opened.waiting_topics.erase(std::unique(opened.waiting_topics.begin(), opened.waiting_topics.end()),
                              opened.waiting_topics.end());
  return opened;
}

void ModelStore::add(Batch& batch, const ModelRow& row) const { batch.memory.push_back(row); }

namespace {
void make_views(ModelStore::Batch& batch, const std::map<std::int64_t, store::Receipt>& receipts,
                const std::map<std::int64_t, HeldRow>& held) {
  static const std::string kNonce = "0123456789";
  for (const ModelRow& row : batch.memory) {
    store::OutboxRow view;
    view.id = row.id;
    view.nonce_prefix = row.nonce;
    if (!row.malformed) view.nonce = kNonce;
    view.topic = row.topic;
    view.partition = row.partition;
    if (row.key) view.key = BytesView(std::string_view(*row.key));
    view.payload = BytesView(std::string_view(row.payload));
    view.deliver_at_ms = row.deliver_at_ms;
    view.sent = receipts.contains(row.id);
    if (const auto found = held.find(row.id); found != held.end()) {
      view.held = found->second.state;
      view.held_lane = found->second.lane;
      view.attempts = found->second.attempts;
      view.redriven = found->second.redriven;
    }
    batch.rows.push_back(view);
  }
}
}  // namespace

ModelStore::Batch ModelStore::read(std::int64_t after, std::int64_t limit) const {
  Batch batch;
  auto next = now_.rows.upper_bound(after);
  for (; next != now_.rows.end() && limit > 0; ++next, --limit) add(batch, next->second);
  batch.exhausted = next == now_.rows.end();
  make_views(batch, now_.receipts, now_.held);
  return batch;
}

ModelStore::Batch ModelStore::read_ready(std::int64_t after, std::int64_t scanned_through, std::int64_t limit) const {
  Batch batch;
  std::map<store::Lane, bool> stopped;
  batch.exhausted = true;
  for (const auto& [id, held] : now_.held) {
    if (id > scanned_through) break;
    if (held.state == HeldState::skipped) continue;
    if (held.state != HeldState::ready) {
      if (held.lane) stopped[*held.lane] = true;
      continue;
    }
    if (id <= after || (held.lane && stopped.contains(*held.lane))) continue;
    if (limit-- <= 0) {
      batch.exhausted = false;
      break;
    }
    add(batch, now_.rows.at(id));
  }
  make_views(batch, now_.receipts, now_.held);
  return batch;
}

bool ModelStore::settles(std::int64_t through) const {
  for (auto row = now_.rows.upper_bound(now_.settled_through); row != now_.rows.end() && row->first <= through; ++row) {
    if (!now_.receipts.contains(row->first) && !now_.held.contains(row->first)) return false;
  }
  return true;
}

void ModelStore::block_behind(std::map<std::int64_t, HeldRow>::iterator held) {
  if (!held->second.lane) return;
  for (auto behind = std::next(held); behind != now_.held.end(); ++behind) {
    if (behind->second.lane != held->second.lane || behind->second.state == HeldState::skipped) continue;
    if (behind->second.state != HeldState::ready) break;
    behind->second.state = HeldState::blocked;
  }
}

store::MarkResult ModelStore::mark(const relay::command::Mark& mark) {
  for (const store::Receipt& receipt : mark.receipts) {
    // A person skipped it while it was in flight, and retention did the rest.
    if (now_.pruned.contains(receipt.id)) continue;
    if (now_.rows.at(receipt.id).nonce != receipt.nonce_prefix) violated("I6: a receipt for another row of this id");
    now_.receipts.emplace(receipt.id, receipt);
    now_.held.erase(receipt.id);
  }
  for (const store::Hold& hold : mark.holds) {
    if (now_.pruned.contains(hold.id)) continue;
    if (now_.rows.at(hold.id).nonce != hold.nonce_prefix) violated("I6: a held row for another row of this id");
    if (now_.receipts.contains(hold.id)) continue;
    const auto [held, added] = now_.held.try_emplace(hold.id);
    const HeldState old = held->second.state;
    if (!added && (old == HeldState::parked || old == HeldState::skipped)) continue;
    const bool redriven = held->second.redriven;
    const bool out_of_order = redriven && !held->second.lane;
    const auto lane = out_of_order ? std::nullopt : hold.lane;
    held->second = {hold.state, lane, hold.attempts, hold.due_at_ms, hold.last_error, false, redriven};
    if (!hold.lane && lane) violated("row " + std::to_string(hold.id) + " holds the key back that was let go");
    if (hold.state == HeldState::blocked && !lane) held->second.state = HeldState::ready;
    if (hold.state == HeldState::parked || hold.state == HeldState::waiting) block_behind(held);
  }
  if (mark.settled_through > now_.settled_through) {
    if (!settles(mark.settled_through)) violated("I5: settled_through would pass a row that is neither sent nor held");
    now_.settled_through = mark.settled_through;
  }
  store::MarkResult result;
  result.settled_through = now_.settled_through;
  for (const store::Lane lane : mark.lanes) {
    const bool clear = std::none_of(now_.held.begin(), now_.held.end(), [&](const auto& held) {
      return held.second.lane == lane && held.second.state != HeldState::skipped;
    });
    if (clear) result.clear_lanes.push_back(lane);
  }
  return result;
}

std::int64_t ModelStore::release_due(std::int64_t now_ms, std::int64_t limit) {
  std::int64_t count = 0;
  for (auto& [id, held] : now_.held) {
    if (held.state != HeldState::scheduled || *held.due_at_ms > now_ms || count == limit) continue;
    held.state = HeldState::ready;
    ++count;
  }
  return count;
}

store::TopicRelease ModelStore::release_topic(const std::string& topic, std::int64_t after, std::int64_t limit) {
  store::TopicRelease release{.rows = 0, .through = after};
  for (auto next = now_.held.upper_bound(after); next != now_.held.end() && release.rows < limit; ++next) {
    auto& [id, held] = *next;
    if (held.state != HeldState::waiting || now_.rows.at(id).topic != topic) continue;
    held.state = HeldState::ready;
    ++topic_releases_[id];
    ++release.rows;
    release.through = id;
  }
  return release;
}

int ModelStore::most_topic_releases() const {
  int most = 0;
  for (const auto& [id, times] : topic_releases_) most = std::max(most, times);
  return most;
}

std::int64_t ModelStore::release_lane(store::Lane lane, std::int64_t limit) {
  std::int64_t count = 0;
  std::int64_t ready = 0;
  for (auto& [id, held] : now_.held) {
    if (held.lane != lane || held.state == HeldState::skipped) continue;
    if (held.state == HeldState::parked || held.state == HeldState::waiting || count == limit) break;
    if (held.state == HeldState::ready && ++ready == 2 * limit) break;
    if (held.state != HeldState::blocked) continue;
    held.state = HeldState::ready;
    ++count;
  }
  return count;
}

store::PruneStep ModelStore::prune(const store::PruneLimits& limits) {
  store::PruneStep step;
  const auto may_go = [&](std::int64_t id) { return id < newest() && id <= now_.settled_through; };
  const auto take = [&](std::int64_t id) {
    now_.pruned.insert(now_.rows.extract(id));
    step.deleted = 1;
    step.more = true;
  };
  for (const auto& [id, receipt] : now_.receipts) {
    if (!now_.rows.contains(id) || !may_go(id)) continue;
    if (receipt.sent_at_ms >= limits.sent_before_ms) {
      step.oldest_sent_ms = std::min(step.oldest_sent_ms.value_or(receipt.sent_at_ms), receipt.sent_at_ms);
      continue;
    }
    take(id);
    now_.receipts.erase(id);
    return step;
  }
  for (const auto& [id, held] : now_.held) {
    const bool old = now_.rows.at(id).created_at_ms < limits.skipped_before_ms;
    if (held.state != HeldState::skipped || !old || !may_go(id)) continue;
    take(id);
    now_.held.erase(id);
    return step;
  }
  return step;
}

void ModelStore::park(std::int64_t id) {
  const auto row = now_.rows.find(id);
  if (row == now_.rows.end() || now_.receipts.contains(id)) return;
  const auto [held, added] = now_.held.try_emplace(id);
  if (added) held->second.lane = row->second.lane();
  if (!added && held->second.state == HeldState::skipped) return;
  ++now_.deeds;
  held->second.state = HeldState::parked;
  held->second.by_person = true;
  block_behind(held);
}

void ModelStore::skip(std::int64_t id) {
  const auto row = now_.rows.find(id);
  if (row == now_.rows.end() || now_.receipts.contains(id)) return;
  HeldRow& held = now_.held[id];
  ++now_.deeds;
  held.state = HeldState::skipped;
  held.by_person = true;
}

void ModelStore::retry(std::int64_t id) {
  const auto found = now_.held.find(id);
  if (found == now_.held.end()) return;
  HeldRow& held = found->second;
  if (held.state == HeldState::skipped) {
    // Its key has gone on: it goes out beside the order, and says so.
    held.lane.reset();
  } else if (held.state != HeldState::parked) {
    return;
  }
  const bool behind = std::any_of(now_.held.begin(), found, [&](const auto& other) {
    const HeldState state = other.second.state;
    return held.lane && other.second.lane == held.lane &&
           (state == HeldState::parked || state == HeldState::blocked || state == HeldState::waiting);
  });
  ++now_.deeds;
  held.redriven = true;
  held.state = behind ? HeldState::blocked : HeldState::ready;
}

bool ModelStore::is_durable(std::int64_t id, std::uint64_t nonce) const {
  const auto row = durable_.rows.find(id);
  return row != durable_.rows.end() && row->second.nonce == nonce;
}

void ModelStore::check_invariants() const {
  for (const auto& [id, held] : now_.held) {
    if (!now_.rows.contains(id)) violated("row " + std::to_string(id) + " is held and gone");
  }
  for (const auto& [id, receipt] : now_.receipts) {
    if (!now_.rows.contains(id)) violated("row " + std::to_string(id) + " is gone and left its receipt");
  }
  for (const auto& [id, row] : now_.rows) {
    const bool has_receipt = now_.receipts.contains(id);
    const bool is_held = now_.held.contains(id);
    if (id <= now_.settled_through && !has_receipt && !is_held)
      violated("I1: row " + std::to_string(id) + " is settled and nowhere");
    if (has_receipt && is_held) violated("I3: row " + std::to_string(id) + " has a receipt and is held");
  }
}

}  // namespace txbox::sim
