// Retention: rows that were sent long ago go, in steps that the store worker carries out between its marks.

#include "relay/engine/retention.hpp"

#include <algorithm>
#include <limits>

#include "relay/engine/core_state.hpp"

namespace txbox::relay {

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
/// A step is followed by a pause so many times as long: a quarter of the time at most is retention's.
constexpr int kPause = 3;
/// After one that found nothing: a hundredth, since a thousand idle files are looked at as well.
constexpr int kPauseForNothing = 100;
constexpr std::chrono::microseconds kPauseLeast = 2ms;
constexpr std::chrono::microseconds kPauseMost = 1s;
constexpr auto kPutOff = 50ms;
/// A walk looks for rows at this part of the time that they are kept: each then finds some that are worth a commit.
constexpr std::int64_t kLooksInTime = 20;
constexpr std::int64_t kLookLeastMs = 100;
constexpr std::int64_t kLookMostMs = 60'000;
/// Walks over all that is held, for skipped rows.
constexpr std::int64_t kSkippedMostMs = 600'000;
/// The wall clock may be set, and what is old was not seen by each walk: so often all is looked at again.
constexpr std::int64_t kLongestMs = 3'600'000;

std::int64_t look_interval_ms(std::chrono::milliseconds keep, std::int64_t most_ms) {
  return std::clamp(keep.count() / kLooksInTime, kLookLeastMs, most_ms);
}

/// Never 0, which would keep all.
std::int64_t before_ms(std::int64_t wall_ms, std::chrono::milliseconds keep) {
  return std::max<std::int64_t>(1, wall_ms - keep.count());
}

}  // namespace

void Retention::sent(PruneBook& book, std::int64_t wall_ms) const noexcept {
  if (keep_.sent) book.due_ms = std::min(book.due_ms, wall_ms + std::min(keep_.sent->count(), kLongestMs));
}

bool Retention::wants(const PruneBook& book, std::int64_t wall_ms) const noexcept {
  if (!keep_.sent && !keep_.skipped) return false;
  // Further away than any time that is ever set: the clock went back.
  return book.due_ms <= wall_ms || (book.due_ms != kNever && book.due_ms > wall_ms + kLongestMs);
}

command::Prune Retention::begin(DatabaseIndex database, PruneBook& book, std::int64_t wall_ms) {
  if (!book.walking) {
    book.limits = {};
    if (keep_.sent) book.limits.sent_before_ms = before_ms(wall_ms, *keep_.sent);
    if (keep_.skipped && (book.skipped_due_ms <= wall_ms || book.skipped_due_ms > wall_ms + kSkippedMostMs)) {
      book.limits.skipped_before_ms = before_ms(wall_ms, *keep_.skipped);
      book.skipped_due_ms = wall_ms + look_interval_ms(*keep_.skipped, kSkippedMostMs);
    }
    book.walking = true;
  }
  // What is marked from here on sets it again.
  book.due_ms = kNever;
  under_way_ = database;
  return {database, book.limits};
}

void Retention::done(const event::Pruned& event, PruneBook& book, SteadyTime now, WallTime wall) {
  under_way_.reset();
  rows_ += event.step.deleted;
  const std::int64_t wall_ms = to_ms(wall);
  const bool for_nothing = event.step.deleted == 0 && !event.step.more && !event.put_off;
  const auto pause = event.took * (for_nothing ? kPauseForNothing : kPause);
  not_before_ = now + std::clamp<std::chrono::microseconds>(pause, kPauseLeast, kPauseMost);
  if (event.put_off || event.step.more) {
    if (event.put_off) not_before_ = std::max<SteadyTime>(not_before_, now + kPutOff);
    book.due_ms = wall_ms;
    return;
  }
  book.walking = false;
  std::int64_t wait_ms = kLongestMs;
  if (keep_.sent) {
    if (event.step.oldest_sent_ms) {
      // A receipt of the future, from before the clock went back, is like one of now.
      const std::int64_t oldest_ms = std::clamp<std::int64_t>(*event.step.oldest_sent_ms, 0, wall_ms);
      wait_ms = std::min(wait_ms, oldest_ms + keep_.sent->count() + 1 - wall_ms);
    }
    if (book.due_ms != kNever) wait_ms = std::min(wait_ms, book.due_ms - wall_ms);
    wait_ms = std::max(wait_ms, look_interval_ms(*keep_.sent, kLookMostMs));
  }
  if (keep_.skipped) wait_ms = std::min(wait_ms, std::max<std::int64_t>(book.skipped_due_ms - wall_ms, kLookLeastMs));
  book.due_ms = wall_ms + wait_ms;
}

void Core::State::on_pruned(const event::Pruned& event) {
  retention.done(event, database(event.database).prune, now, wall);
}

void Core::State::on_retention(const event::RetentionPolicy& event) {
  retention.set(event.keep);
  for (std::optional<Database>& db : databases) {
    if (db) db->prune = {.due_ms = to_ms(wall), .skipped_due_ms = to_ms(wall), .limits = {}, .walking = false};
  }
}

/// Those that sleep look when they wake, by the floor timer at the latest.
void Core::State::schedule_prune() {
  if (!retention.idle() || now < retention.not_before()) return;
  auto next = awake.lower_bound(first_to_prune);
  for (std::size_t count = 0; count < awake.size(); ++count, ++next) {
    if (next == awake.end()) next = awake.begin();
    Database& db = *databases[*next];
    if (!db.opened || !retention.wants(db.prune, to_ms(wall))) continue;
    first_to_prune = db.index + 1;
    out->other.emplace_back(retention.begin(db.index, db.prune, to_ms(wall)));
    return;
  }
}

}  // namespace txbox::relay
