#include "relay/engine/wake_watch.hpp"

#include <algorithm>
#include <array>

namespace txbox::relay {

namespace {
using namespace std::chrono_literals;
// Most commits are visible within a few hundred microseconds of their event, those that sync a slow disk (at FULL each
// does, between the event and the moment when it is visible) after tens of milliseconds; what takes longer is found by
// the core's floor timer.
constexpr std::array<std::chrono::microseconds, 11> kLooks{0us, 100us, 200us, 500us, 1ms,  2ms,
                                                           5ms, 10ms,  20ms,  50ms,  100ms};
// A move beside marks of our own is passed on as "perhaps others" after this time.
constexpr auto kDoubtInterval = 500ms;
}  // namespace

void WakeWatch::touched(SteadyTime now) noexcept {
  step_ = 0;
  next_look_ = now + kLooks[0];
}

std::optional<WakeWatch::Verdict> WakeWatch::look(SteadyTime now, std::int64_t data_version) noexcept {
  const bool moved = data_version != version_;
  version_ = data_version;
  // After a move the looks begin again: the event of a second commit may have been read together with the first's.
  step_ = moved ? 1 : step_ + 1;
  next_look_ = step_ < kLooks.size() ? now + kLooks[step_] : SteadyTime::max();
  std::optional<Verdict> verdict;
  if (moved) {
    verdict.emplace();
    const bool perhaps_own = own_commits_ || writes_under_way_ > 0;
    verdict->changed_by_others = !perhaps_own;
    if (perhaps_own) doubt_due_ = std::min(doubt_due_, now + kDoubtInterval);
    if (writes_under_way_ > 0) move_while_writing_ = true;
    own_commits_ = false;
  }
  if (now >= doubt_due_) verdict = Verdict{true};
  if (verdict && verdict->changed_by_others) doubt_due_ = SteadyTime::max();
  next_look_ = std::min(next_look_, doubt_due_);
  return verdict;
}

}  // namespace txbox::relay
