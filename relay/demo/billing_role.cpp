#include "relay/demo/billing_role.hpp"

#include <csignal>
#include <thread>
#include <utility>

#include "relay/demo/number_text.hpp"

namespace txbox::relay::demo {
namespace {

using std::chrono::steady_clock;

/// A transaction is open for milliseconds only, so a kill that is to come looks for one, glance after glance.
constexpr std::chrono::milliseconds kAimGlance(30);
constexpr std::chrono::microseconds kAimStep(50);
constexpr std::chrono::milliseconds kAim(500);  ///< Then the kill comes anyway.

}  // namespace

BillingRole::BillingRole(Options options, Player player)
    : options_(std::move(options)), player_(std::move(player)), progress_(options_.db), tally_(options_.tally_file) {}

void BillingRole::start() {
  start_life();
  player_.say("starts as process " + std::to_string(player_.pid()) +
              " and joins its consumer group, which takes a few seconds");
}

void BillingRole::start_life() {
  player_.start(options_.command);
  restart_at_.reset();
  aim_ends_at_.reset();
  has_partitions_ = false;
  has_applied_ = false;
  taken_before_ = taken_;
  applied_before_ = applied_;
  handled_before_ = tally_.count();
}

bool BillingRole::act(std::int64_t taken) {
  taken_ = taken;
  applied_ = progress_.applied();
  if (restart_at_) {
    if (steady_clock::now() < *restart_at_) return true;
    start_life();
    player_.say("starts again as process " + std::to_string(player_.pid()) + " and joins the group anew");
    return true;
  }
  if (const auto result = player_.result()) {
    player_.report_end("ended by itself", *result);
    lives_.failures = player_.failures();
    return false;
  }
  notice();
  if (kill_is_near() && caught_in_transaction()) kill();
  return true;
}

void BillingRole::notice() {
  if (!has_partitions_ && taken_ > taken_before_) {
    has_partitions_ = true;
    player_.say("has its partitions " + in_seconds(player_.age()) +
                " after its start; goes on where its database says");
  }
  has_applied_ = has_applied_ || applied_ > applied_before_;
}

bool BillingRole::kill_is_due() const {
  // A life that has committed nothing would prove nothing by its end.
  return has_applied_ && next_kill_ < options_.plan.size() && applied_ >= options_.plan[next_kill_].when_done;
}

bool BillingRole::kill_is_near() const {
  // The first orders of a life come in one rush, which is the best moment.
  return kill_is_due() || (has_partitions_ && !has_applied_ && next_kill_ < options_.plan.size());
}

bool BillingRole::caught_in_transaction() {
  const auto glance_ends = steady_clock::now() + kAimGlance;
  while (steady_clock::now() < glance_ends) {
    const std::int64_t handled = tally_.count() - handled_before_;
    applied_ = progress_.applied();
    notice();
    if (kill_is_due() && handled > applied_ - applied_before_) return true;
    std::this_thread::sleep_for(kAimStep);
  }
  if (!kill_is_due()) return false;
  if (!aim_ends_at_) aim_ends_at_ = glance_ends + kAim;
  return glance_ends >= *aim_ends_at_;
}

void BillingRole::kill() {
  const pid_t pid = player_.pid();
  player_.end_with(SIGKILL);
  applied_ = progress_.applied();
  const std::int64_t undone = (tally_.count() - handled_before_) - (applied_ - applied_before_);
  ++lives_.kills;
  ++lives_.kills_after_applying;
  lives_.undone += undone > 0 ? undone : 0;
  restart_at_ = steady_clock::now() + options_.plan[next_kill_++].pause;
  player_.stress("killed with SIGKILL (process " + std::to_string(pid) + ")" +
                 (undone > 0 ? " in a transaction, " + counted(undone, "effect") + " undone" : "") + "; " +
                 counted(applied_, "order") + " in its books");
}

void BillingRole::stalled(std::chrono::milliseconds time) { player_.bad("has moved nothing for " + in_seconds(time)); }

void BillingRole::stop() {
  if (restart_at_ || player_.result()) return;
  player_.report_end("stops on SIGTERM", player_.end_with(SIGTERM));
  lives_.failures = player_.failures();
}

}  // namespace txbox::relay::demo
