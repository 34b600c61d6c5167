#include "relay/host/service_manager.hpp"

#include <algorithm>
#include <utility>

#ifdef TXBOX_HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#include "relay/engine/one_line.hpp"

namespace txbox::relay {

namespace {

using namespace std::chrono_literals;
constexpr std::chrono::milliseconds kInterval = 1s;

#ifdef TXBOX_HAVE_SYSTEMD
void send(const std::string& text) noexcept {
  // Its error says that nobody listens any more, and there is nobody else to tell.
  static_cast<void>(sd_notify(0, text.c_str()));
}
std::chrono::microseconds watchdog() noexcept {
  std::uint64_t usec = 0;
  return sd_watchdog_enabled(0, &usec) > 0 ? std::chrono::microseconds(usec) : 0us;
}
#else
void send(const std::string&) noexcept {}
std::chrono::microseconds watchdog() noexcept { return 0us; }
#endif

}  // namespace

ServiceManager::ServiceManager(std::shared_ptr<const Liveness> liveness)
    : liveness_(std::move(liveness)), watchdog_half_(watchdog() / 2), interval_(kInterval) {
  if (watchdog_half_ > 0us)
    interval_ = std::clamp(std::chrono::floor<std::chrono::milliseconds>(watchdog_half_ / 2), 1ms, kInterval);
}

void ServiceManager::tell(const RunnerPulse& pulse, SteadyTime now) {
  std::string text;
  // A relay that waits for another one is ready: its start is over, and it does what it was started for. Without this a
  // standby would be ended and started again each time the start's time limit (TimeoutStartSec) is over.
  if (pulse.ready && !told_.ready) text += "READY=1\n";
  if (pulse.stopping && !told_.stopping) text += "STOPPING=1\n";
  // One assignment a line: a path with a line break in it must not become another one.
  if (pulse.words != told_.words) text += "STATUS=" + one_line(pulse.words) + "\n";
  if (watchdog_half_ > 0us && now - last_sign_ >= watchdog_half_ - interval_ &&
      liveness_->stillness(now) < watchdog_half_) {
    text += "WATCHDOG=1\n";
    last_sign_ = now;
  }
  told_ = pulse;
  if (!text.empty()) send(text);
}

void ServiceManager::reloading(SteadyTime now) {
  if (!told_.ready) return;  // One that came before the start was over does not end it.
  const auto usec = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch());
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(usec.count()) + "\n");
}

void ServiceManager::reloaded() {
  if (told_.ready) send("READY=1\n");
}

}  // namespace txbox::relay
