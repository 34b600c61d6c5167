// How the loop ends: a signal, or a drain that came to its end.

#include "relay/engine/runner_state.hpp"

#include <utility>
#include <vector>

namespace txbox::relay {

namespace {
using namespace std::chrono_literals;
// After the grace time the marks under way get this much more; a database that is locked for longer keeps them unsent.
constexpr auto kLastMarks = 2s;
}  // namespace

void Runner::State::serve_stop() {
  const int requests = options.take_stop_requests ? options.take_stop_requests() : 0;
  if (requests > 0 && (stopping || requests > 1)) {
    say(LogLevel::warning,
        "stopped at once; what Kafka has not acknowledged stays unsent and goes out at the next start");
    outcome.at_once = true;
    stopped = true;
    return;
  }
  if (requests > 0) {
    say(LogLevel::info, "stopping: waiting for what is in flight");
    stopping = true;
    stop_deadline = now() + options.grace;
    step(event::StopRequested{});
    show_figures();
  }
  if (!stopping || now() < stop_deadline) return;
  if (deadline_told) {
    stopped = true;
    return;
  }
  deadline_told = true;
  stop_deadline = now() + kLastMarks;
  say(LogLevel::warning,
      "the grace time is over; what Kafka has not acknowledged stays unsent and goes out at the next start");
  step(event::StopDeadline{});
}

bool Runner::State::drain_is_done() {
  if (!to_open.empty() || !topics_to_hear_of.empty()) return false;
  while (!draining.empty() && core.settled(draining.back(), files[draining.back()]->drain_goal)) draining.pop_back();
  return draining.empty();
}

/// Whoever asked for a drain relies on what 0 says: a signal may have ended it before its end.
void Runner::State::own_up_to_drain() {
  if (!options.drain || outcome.drained || outcome.code != ExitCode::ok) return;
  outcome.drained = drain_is_done();
  if (outcome.drained) return;
  say(LogLevel::warning, "stopped before the drain was at its end; what is left goes out at the next run");
  outcome.code = ExitCode::try_later;
}

void Runner::State::serve_drain() {
  if (!options.drain || stopping) return;
  const SteadyTime time = now();
  bool done = false;
  if (std::exchange(settled_moved, false)) done = drain_is_done();
  if (!done && time < drain_deadline) return;
  if (!done) {
    for (const auto& [time_to_open, index] : to_open) say(LogLevel::error, files[index]->told);
    say(LogLevel::error, "the drain did not end within its time; what is left goes out at the next run");
    outcome.code = ExitCode::try_later;
  }
  outcome.drained = done;
  stopping = true;
  stop_deadline = time + options.grace;
  drain_deadline = SteadyTime::max();
  step(event::StopRequested{});
}

}  // namespace txbox::relay
