#include "relay/demo/demo.hpp"

#include <csignal>

#include <txbox/base/random.hpp>

#include "relay/demo/final_table.hpp"
#include "relay/demo/narrator.hpp"
#include "relay/demo/stop_request.hpp"
#include "relay/demo/story.hpp"

namespace txbox::relay::demo {

int run_demo(const DemoOptions& options) {
  int signal = 0;
  try {
    const StopRequest stop;
    Narrator narrator(options.json);
    constexpr std::uint64_t kShortSeed = 1'000'000;  // One that a person can type again.
    Story story({.orders = options.orders, .seed = options.seed.value_or(random_seed() % kShortSeed)}, narrator, stop);
    const Outcome outcome = story.tell();
    tell_outcome(narrator, outcome);
    return outcome.holds() ? 0 : 1;
  } catch (const Interrupted& interrupted) {
    signal = interrupted.signal;
  }
  // Everything is cleared away; now end as the signal wanted, so that a calling shell sees it too.
  std::raise(signal);
  return 1;
}

}  // namespace txbox::relay::demo
