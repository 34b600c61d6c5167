#include "held_releases.hpp"

#include <sqlite3.h>

#include <txbox/store/held_state.hpp>

#include "outbox_sql.hpp"

namespace txbox::store {

namespace {
/// So many times `limit` rows of a lane are ready at a time, at most. Each release walks past them under the write
/// lock, and without a bound a long lane's walks would grow with what was released and is not yet sent.
constexpr std::int64_t kReadySpan = 2;
}  // namespace

HeldReleases::HeldReleases(sqlite3* db)
    : db_(db),
      due_(db, sql::kReleaseDue),
      waiting_of_topic_(db, sql::kWaitingOfTopic),
      lane_from_start_(db, sql::kLaneFromStart),
      lane_behind_(db, sql::kLaneBehind),
      make_ready_(db, sql::kMakeReady),
      make_blocked_(db, sql::kMakeBlocked) {}

std::int64_t HeldReleases::due(std::int64_t now_ms, std::int64_t limit) {
  due_.bind(1, now_ms).bind(2, limit);
  due_.execute();
  return sqlite3_changes64(db_);
}

TopicRelease HeldReleases::topic(const std::string& topic, std::int64_t after, std::int64_t limit) {
  ids_.clear();
  {
    const ResetGuard guard(waiting_of_topic_);
    waiting_of_topic_.bind(1, after).bind(2, std::string_view(topic)).bind(3, limit);
    while (waiting_of_topic_.step()) ids_.push_back(waiting_of_topic_.column_int64(0));
  }
  const std::int64_t through = ids_.empty() ? after : ids_.back();
  return {.rows = make_ready(), .through = through};
}

std::int64_t HeldReleases::lane(Lane lane, std::int64_t limit) {
  ids_.clear();
  {
    const ResetGuard guard(lane_from_start_);
    lane_from_start_.bind(1, lane);
    std::int64_t ready = 0;
    while (static_cast<std::int64_t>(ids_.size()) < limit && ready < kReadySpan * limit && lane_from_start_.step()) {
      const std::optional<HeldState> state = held_state_from(lane_from_start_.column_text(1));
      if (state == HeldState::ready) ++ready;
      if (state == HeldState::parked || state == HeldState::waiting) break;
      if (state == HeldState::blocked) ids_.push_back(lane_from_start_.column_int64(0));
    }
  }
  return make_ready();
}

void HeldReleases::block_behind(Lane lane, std::int64_t id) {
  ids_.clear();
  {
    const ResetGuard guard(lane_behind_);
    lane_behind_.bind(1, lane).bind(2, id);
    while (lane_behind_.step()) {
      const std::optional<HeldState> state = held_state_from(lane_behind_.column_text(1));
      if (state == HeldState::ready) {
        ids_.push_back(lane_behind_.column_int64(0));
      } else if (state != HeldState::skipped) {
        break;
      }
    }
  }
  for (const std::int64_t behind : ids_) {
    make_blocked_.bind(1, behind);
    make_blocked_.execute();
  }
}

std::int64_t HeldReleases::make_ready() {
  for (const std::int64_t id : ids_) {
    make_ready_.bind(1, id);
    make_ready_.execute();
  }
  return static_cast<std::int64_t>(ids_.size());
}

}  // namespace txbox::store
