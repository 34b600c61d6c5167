// What is held goes on: due rows, topics that came back, lanes whose head was resolved, what people changed.

#include <algorithm>
#include <utility>

#include <txbox/base/check.hpp>

#include "relay/engine/core_state.hpp"

namespace txbox::relay {

namespace {
/// Every commit of the application moves data_version, so what people may have changed is looked up at this pace.
constexpr std::chrono::milliseconds kReloadInterval{250};
/// Nobody but people and the relay itself changes what is held. In case somebody did, all of it is looked at so often.
constexpr std::chrono::seconds kWholeReload{60};
/// A look at a million held lanes takes its time, in the thread that publishes: so many times as long passes before the
/// next one.
constexpr int kReloadPause = 9;
/// Beside the lanes that changed, so many more are asked about per reload: none is forgotten for ever.
constexpr std::size_t kSweepLanes = 16;
}  // namespace

void Core::State::on_opened(const event::DatabaseOpened& event) {
  Database& db = database(event.database);
  if (!db.opened) {
    first_load(db, event);
    return;
  }
  db.reloading = false;
  db.reload_whole_at = now + kWholeReload;
  db.reload_not_before = now + std::max<SteadyTime::duration>(kReloadInterval, kReloadPause * (now - db.reload_began));
  if (event.next_due_ms) db.next_due_ms = std::min(db.next_due_ms.value_or(*event.next_due_ms), *event.next_due_ms);
  reload_lanes(db, event.held_lanes);
}

void Core::State::on_held_unchanged(const event::HeldUnchanged& event) {
  Database& db = database(event.database);
  db.reloading = false;
  db.reload_not_before = now + kReloadInterval;
}

void Core::State::first_load(Database& db, const event::DatabaseOpened& event) {
  db.opened = true;
  db.window.start_at(event.progress.settled_through);
  db.cursor = db.settled_asked = db.settled_confirmed = event.progress.settled_through;
  db.next_due_ms = event.next_due_ms;
  db.reload_whole_at = now + kWholeReload;
  for (const store::LaneLoad& load : event.held_lanes) {
    db.lanes.close(load.lane, 0, false);
    db.lanes.entry(load.lane).held = load.held;
    if (!load.stands_at_head) queue_lane_release(db, load.lane);
  }
  for (const std::string& name : event.waiting_topics) {
    const std::uint32_t number = topics.number_of(name);
    if (number == kNoTopic) continue;
    Topic& topic = topics.at(number);
    topic.waiting_in.insert(db.index);
    // Otherwise the first description that says "usable" releases them.
    if (topic.phase == TopicPhase::usable) queue_topic_release(db, number, 0);
  }
  want_pass(db);
}

void Core::State::reload_lanes(Database& db, const std::vector<store::LaneLoad>& loads) {
  std::vector<std::pair<store::Lane, std::int64_t>> held;
  held.reserve(loads.size());
  for (const store::LaneLoad& load : loads) held.emplace_back(load.lane, load.held);
  std::sort(held.begin(), held.end());
  const std::vector<store::Lane> lanes = db.lanes.sorted();
  for (std::size_t index = 0; index < lanes.size(); ++index) {
    LaneEntry* entry = db.lanes.find(lanes[index]);
    if (!entry->closed) continue;
    const auto found = std::lower_bound(held.begin(), held.end(), std::pair(lanes[index], INT64_MIN));
    if (found == held.end() || found->first != lanes[index]) {
      // Nothing of it is held: but only where no hold was marked after the look that says so.
      const bool looked_before = std::max(entry->confirmed_at, entry->seen_at) > db.reload_step;
      if (entry->pending_holds == 0 && !looked_before) db.lanes.open(lanes[index]);
      if (looked_before) db.reload_wanted = db.reload_whole = true;
      continue;
    }
    const bool swept = (index + lanes.size() - db.sweep_position % lanes.size()) % lanes.size() < kSweepLanes;
    if (swept || entry->touched || entry->held != found->second) queue_lane_release(db, lanes[index]);
    entry->held = found->second;
    entry->touched = false;
  }
  db.sweep_position += kSweepLanes;
}

void Core::State::on_woken(const event::Woken& event) {
  Database& db = database(event.database);
  db.exhausted = false;
  if (db.reading == Reading::rows) db.woken = true;
  if (!event.changed_by_others) return;
  if (!db.pass_wanted) {
    db.pass_wanted = true;
    db.pass_not_before = std::max(now, db.pass_began + kReloadInterval);
  }
  if (db.lanes.closed_count() > 0) db.reload_wanted = true;
}

void Core::State::on_described(const event::TopicDescribed& event) {
  const TopicChange change = topics.described(now, event, options.topic_refresh, *out);
  const std::uint32_t number = topics.number_of(event.topic);
  if (number != kNoTopic) judge_partitions(number, event.facts);
  if (change == TopicChange::usable) release_topic(number);
  if (change == TopicChange::grown && topics.adopt_growth(number, *out)) release_topic(number);
}

void Core::State::release_topic(std::uint32_t number) {
  for (const DatabaseIndex index : topics.at(number).waiting_in) {
    queue_topic_release(database(index), number, 0);
  }
}

/// A walk that is wanted anew takes the place of one that waits to go on: it passes all that the other had before it.
void Core::State::queue_topic_release(Database& db, std::uint32_t number, std::int64_t after) {
  const auto [queued, added] = db.topic_release_after.try_emplace(number, after);
  queued->second = std::min(queued->second, after);
  if (added) db.releases.push_back({ReleaseWanted::Kind::topic, number, 0});
}

void Core::State::queue_lane_release(Database& db, store::Lane lane) {
  LaneEntry& entry = db.lanes.entry(lane);
  if (entry.release_queued) {
    entry.release_again = true;
    return;
  }
  entry.release_queued = true;
  db.releases.push_back({ReleaseWanted::Kind::lane, 0, lane});
}

void Core::State::on_released(const event::Released& event) {
  Database& db = database(event.database);
  TXBOX_CHECK(db.releasing.has_value());
  const ReleaseWanted done = *std::exchange(db.releasing, std::nullopt);
  if (event.rows > 0) want_pass(db);
  if (done.kind == ReleaseWanted::Kind::due) {
    db.next_due_ms = event.more ? std::optional(to_ms(wall)) : event.next_due_ms;
    if (db.due_while_releasing) {
      db.next_due_ms = std::min(db.next_due_ms.value_or(*db.due_while_releasing), *db.due_while_releasing);
    }
    return;
  }
  if (done.kind == ReleaseWanted::Kind::topic) {
    // From where it came to: the rows before may wait again (their partition does not exist), and to release those for
    // ever would keep the rows behind them back, and cost a transaction each time.
    if (event.more) queue_topic_release(db, done.topic, event.through);
    return;
  }
  if (event.more) {
    db.releases.push_back(done);
    return;
  }
  LaneEntry* entry = db.lanes.find(done.lane);
  if (entry == nullptr) return;
  entry->release_queued = std::exchange(entry->release_again, false);
  if (entry->release_queued) {
    db.releases.push_back(done);
    return;
  }
  // What is left of the lane stands behind a row that holds it back for certain, unless more is being held just now.
  if (event.rows == 0 && entry->pending_holds == 0) entry->certain = true;
  db.lanes.forget_if_idle(done.lane);
}

void Core::State::schedule_releases(Database& db) {
  if (db.releasing) return;
  if (db.next_due_ms && *db.next_due_ms <= to_ms(wall)) {
    db.releasing = ReleaseWanted{};
    db.due_while_releasing.reset();
    out->other.emplace_back(command::ReleaseDue{db.index});
    return;
  }
  if (db.releases.empty()) return;
  db.releasing = db.releases.front();
  db.releases.pop_front();
  db.due_while_releasing.reset();
  if (db.releasing->kind == ReleaseWanted::Kind::topic) {
    const auto queued = db.topic_release_after.find(db.releasing->topic);
    out->other.emplace_back(command::ReleaseTopic{db.index, topics.at(db.releasing->topic).name, queued->second});
    db.topic_release_after.erase(queued);
  } else {
    out->other.emplace_back(command::ReleaseLane{db.index, db.releasing->lane});
  }
}

void Core::State::schedule_reload(Database& db) {
  if (!db.reload_wanted || db.reloading || now < db.reload_not_before) return;
  db.reload_wanted = false;
  db.reloading = true;
  db.reload_step = step_number;
  db.reload_began = now;
  const bool whole = std::exchange(db.reload_whole, false) || now >= db.reload_whole_at;
  out->other.emplace_back(command::Reload{.database = db.index, .only_after_deeds = !whole});
}

}  // namespace txbox::relay
