#include "relay/demo/relay_role.hpp"

#include <csignal>
#include <utility>

#include "relay/demo/number_text.hpp"

namespace txbox::relay::demo {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kDrainTimeout(15);
constexpr std::chrono::seconds kDrainGrace(15);

}  // namespace

RelayRole::RelayRole(Options options, Player player) : options_(std::move(options)), player_(std::move(player)) {}

void RelayRole::start() {
  start_life();
  player_.say("starts as process " + std::to_string(player_.pid()));
}

void RelayRole::start_life() {
  player_.start({"run", "--db", options_.db, "--brokers", options_.brokers});
  restart_at_.reset();
  has_published_ = false;
  repeats_ = 0;
}

void RelayRole::saw(const TopicWatch::Seen& seen) {
  if (!seen.first) {
    ++repeats_;
    return;
  }
  if (restart_at_ || has_published_) return;
  has_published_ = true;
  if (next_kill_ > 0) {
    player_.say("publishes again " + in_seconds(player_.age()) +
                " after its start; events that it sent once more: " + with_commas(repeats_));
  }
}

bool RelayRole::act(std::int64_t committed, std::int64_t published) {
  if (restart_at_) {
    if (steady_clock::now() < *restart_at_) return true;
    start_life();
    player_.say("starts again as process " + std::to_string(player_.pid()) + "; the shop went on, " +
                counted(committed - published, "order waits", "orders wait"));
  } else if (const auto result = player_.result()) {
    player_.report_end("ended by itself", *result);
    lives_.failures = player_.failures();
    return false;
  } else if (has_published_ && next_kill_ < options_.plan.size() && published >= options_.plan[next_kill_].when_done) {
    // A life that has published nothing would prove nothing by its end.
    kill(committed, published);
  }
  return true;
}

void RelayRole::kill(std::int64_t committed, std::int64_t published) {
  const pid_t pid = player_.pid();
  player_.end_with(SIGKILL);
  ++lives_.kills;
  ++lives_.kills_after_publishing;
  restart_at_ = steady_clock::now() + options_.plan[next_kill_++].pause;
  player_.stress("killed with SIGKILL (process " + std::to_string(pid) + "), " + with_commas(published) + " of " +
                 counted(committed, "committed order") + " in Kafka");
}

void RelayRole::stalled(std::chrono::milliseconds time) {
  player_.bad("has published nothing for " + in_seconds(time));
}

void RelayRole::stop() {
  if (restart_at_ || player_.result()) return;
  const int result = player_.end_with(SIGTERM);
  // A life too short to have published may have ended before it could answer a signal.
  const bool too_short = !has_published_ && result == 128 + SIGTERM;
  player_.report_end("stops on SIGTERM", too_short ? 0 : result);
  lives_.failures = player_.failures();
}

void RelayRole::drain() {
  player_.start({"run", "--db", options_.db, "--brokers", options_.brokers, "--drain", "--timeout",
                 std::to_string(kDrainTimeout.count()) + "s"});
  drain_ends_by_ = steady_clock::now() + kDrainTimeout + kDrainGrace;
}

bool RelayRole::drained() { return player_.result().has_value() || steady_clock::now() >= drain_ends_by_; }

void RelayRole::end_drain() {
  player_.report_end("`run --drain` looks for anything left", player_.end_with(SIGKILL));
  lives_.failures = player_.failures();
}

}  // namespace txbox::relay::demo
