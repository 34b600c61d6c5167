#include "sim/store/model_relay.hpp"

#include <algorithm>

#include <txbox/store/statement.hpp>

namespace txbox::test {

using store::HeldState;

ModelRelay::ModelRelay(const std::string& path, ModelBroker& broker, Random& random)
    : side_(path), broker_(broker), random_(random) {
  // The model has no power cuts, and ten thousand histories cannot wait for a disk.
  for (const store::Connection* connection : {&side_.reading, &side_.writing}) {
    store::execute(connection->handle(), "PRAGMA synchronous=OFF");
  }
  scanned_through_ = settled_through_ = side_.reader.progress().settled_through;
  for (const store::LaneLoad& load : side_.reader.held_lanes()) closed_.insert(load.lane);
}

void ModelRelay::produce(const InFlight& row) { queues_[queue_of(row)].push_back(row); }

void ModelRelay::hold(const InFlight& row, HeldState state, std::optional<std::int64_t> due_at_ms) {
  store::Hold wish;
  wish.id = row.id;
  wish.nonce_prefix = row.nonce_prefix;
  wish.state = state;
  wish.lane = row.lane;
  wish.due_at_ms = due_at_ms;
  holds_.push_back(wish);
  if (row.lane) closed_.insert(*row.lane);
}

bool ModelRelay::is_under_way(std::int64_t id) const {
  const auto is_it = [id](const auto& note) { return note.id == id; };
  return std::any_of(receipts_.begin(), receipts_.end(), is_it) || std::any_of(holds_.begin(), holds_.end(), is_it) ||
         std::any_of(queues_.begin(), queues_.end(),
                     [&](const auto& entry) { return std::any_of(entry.second.begin(), entry.second.end(), is_it); });
}

bool ModelRelay::lane_is_under_way(store::Lane lane) const {
  if (queues_.contains({true, lane})) return true;
  return std::any_of(holds_.begin(), holds_.end(), [lane](const store::Hold& wish) { return wish.lane == lane; });
}

void ModelRelay::read(std::int64_t now_ms) {
  const std::int64_t limit = 1 + static_cast<std::int64_t>(random_.below(4));
  for (const store::OutboxRow& row : side_.read(scanned_through_, limit)) {
    scanned_through_ = row.id;
    InFlight mine{
        .id = row.id, .nonce_prefix = row.nonce_prefix, .lane = std::nullopt, .topic = std::string(row.topic)};
    if (row.sent || row.held) {
      noted_.insert(row.id);
      if (row.held && row.held != HeldState::skipped && row.held_lane) closed_.insert(*row.held_lane);
      continue;
    }
    if (!row.key.is_null() && !row.deliver_at_ms) mine.lane = store::lane_of(row.topic, row.partition, row.key.view());
    if (row.deliver_at_ms && *row.deliver_at_ms > now_ms) {
      hold(mine, HeldState::scheduled, row.deliver_at_ms);
    } else if (mine.lane && closed_.contains(*mine.lane)) {
      hold(mine, HeldState::blocked);
    } else if (broker_.paused_topics.contains(mine.topic)) {
      hold(mine, HeldState::waiting);
    } else {
      produce(mine);
    }
  }
}

void ModelRelay::read_ready() {
  std::set<store::Lane> passed;
  for (const store::OutboxRow& row : side_.read_ready(scanned_through_)) {
    const bool in_turn = !row.held_lane || (!passed.contains(*row.held_lane) && !lane_is_under_way(*row.held_lane));
    if (row.held_lane) passed.insert(*row.held_lane);
    if (!in_turn || row.sent || is_under_way(row.id)) continue;
    const InFlight mine{
        .id = row.id, .nonce_prefix = row.nonce_prefix, .lane = row.held_lane, .topic = std::string(row.topic)};
    if (broker_.paused_topics.contains(mine.topic)) {
      hold(mine, HeldState::waiting);
    } else {
      produce(mine);
    }
  }
}

void ModelRelay::deliver() {
  if (queues_.empty()) return;
  const auto entry = std::next(queues_.begin(), static_cast<std::ptrdiff_t>(random_.below(queues_.size())));
  std::deque<InFlight>& queue = entry->second;
  const InFlight head = queue.front();
  const bool paused = broker_.paused_topics.contains(head.topic);
  if (paused || broker_.refused_rows.contains(head.id)) {
    // A gapless producer gives what follows back unsent.
    hold(head, paused ? HeldState::waiting : HeldState::parked);
    for (auto row = std::next(queue.begin()); row != queue.end(); ++row) {
      hold(*row, paused ? HeldState::waiting : HeldState::blocked);
    }
    queues_.erase(entry);
    return;
  }
  broker_.arrived.push_back(head.id);
  // Sometimes nothing is heard of it: an unknown outcome, so it stays at the head and goes out again.
  if (random_.below(10) == 0) return;
  const auto arrivals = static_cast<std::int64_t>(broker_.arrived.size());
  // By a clock that people set forwards and back.
  const auto sent_at_ms = static_cast<std::int64_t>(1 + random_.below(4));
  receipts_.push_back(
      {.id = head.id, .nonce_prefix = head.nonce_prefix, .partition = 0, .offset = arrivals, .sent_at_ms = sent_at_ms});
  queue.pop_front();
  if (queue.empty()) queues_.erase(entry);
}

std::int64_t ModelRelay::settled_with(const store::MarkRequest& request) const {
  std::set<std::int64_t> noted = noted_;
  for (const store::Receipt& receipt : request.receipts) noted.insert(receipt.id);
  for (const store::Hold& wish : request.holds) noted.insert(wish.id);
  std::int64_t settled = settled_through_;
  while (noted.contains(settled + 1)) ++settled;
  return settled;
}

void ModelRelay::forget_written(std::size_t receipts, std::size_t holds) {
  for (std::size_t index = 0; index < receipts; ++index) noted_.insert(receipts_[index].id);
  for (std::size_t index = 0; index < holds; ++index) noted_.insert(holds_[index].id);
  receipts_.erase(receipts_.begin(), receipts_.begin() + static_cast<std::ptrdiff_t>(receipts));
  holds_.erase(holds_.begin(), holds_.begin() + static_cast<std::ptrdiff_t>(holds));
  std::erase_if(noted_, [&](std::int64_t id) { return id <= settled_through_; });
}

void ModelRelay::mark(bool all) {
  const std::size_t receipts = all ? receipts_.size() : random_.below(receipts_.size() + 1);
  const std::size_t holds = all ? holds_.size() : random_.below(holds_.size() + 1);
  const std::vector<store::Lane> lanes(closed_.begin(), closed_.end());
  store::MarkRequest request{.receipts = std::span(receipts_).first(receipts),
                             .holds = std::span(holds_).first(holds),
                             .settled_through = 0,
                             .lanes = lanes};
  request.settled_through = settled_with(request);
  // A relay that is wrong about what is settled must not be believed (I5).
  if (random_.below(8) == 0) request.settled_through = scanned_through_ + static_cast<std::int64_t>(random_.below(3));
  const store::MarkResult result = side_.marker.mark(request);
  settled_through_ = std::max(settled_through_, result.settled_through);
  forget_written(receipts, holds);
  for (const store::Lane lane : result.clear_lanes) {
    if (!lane_is_under_way(lane)) closed_.erase(lane);
  }
}

void ModelRelay::release(std::int64_t now_ms) {
  const std::int64_t limit = 1 + static_cast<std::int64_t>(random_.below(3));
  side_.marker.release_due(now_ms, limit);
  for (const char* topic : {"a", "b"}) {
    if (!broker_.paused_topics.contains(topic)) side_.marker.release_topic(topic, 0, limit);
  }
  for (const store::LaneLoad& load : side_.reader.held_lanes()) {
    closed_.insert(load.lane);
    side_.marker.release_lane(load.lane, limit);
  }
}

}  // namespace txbox::test
