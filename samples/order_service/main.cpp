// A small order service: each order and the event that announces it are committed together, or not at all.
#include <csignal>
#include <cstdio>
#include <ctime>

#include <algorithm>
#include <chrono>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>

#include "options.hpp"
#include "shop.hpp"

namespace {

using Clock = std::chrono::steady_clock;

/// SIGTERM and SIGINT are blocked and asked for, so that no order is interrupted: the service stops between two.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }
  /// True when one came before `time`; a time that has passed looks only once.
  [[nodiscard]] bool came_before(Clock::time_point time) const {
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(time - Clock::now());
      timespec wait{};
      if (left.count() > 0) wait = {.tv_sec = left.count() / 1'000'000'000, .tv_nsec = left.count() % 1'000'000'000};
      if (sigtimedwait(&signals_, nullptr, &wait) > 0) return true;
      if (Clock::now() >= time) return false;
    }
  }

 private:
  sigset_t signals_{};
};

class OrderSource {
 public:
  OrderSource(std::uint64_t seed, std::int64_t accounts)
      : random_(seed), accounts_(static_cast<std::uint64_t>(accounts)) {}
  Order next() {
    const std::uint64_t account = random_() % accounts_ + 1;
    const auto amount_cents = static_cast<std::int64_t>(random_() % 20'000 + 100);
    return {.account = "account-" + std::to_string(account), .amount_cents = amount_cents};
  }

 private:
  std::mt19937_64 random_;
  std::uint64_t accounts_;
};

std::int64_t serve(const Options& options) {
  const StopSignals stop;
  Shop shop(options.db, options.topic);
  OrderSource source(options.seed.value_or(std::random_device{}()), options.accounts);

  const auto start = Clock::now();
  std::int64_t placed = 0;
  while (!options.orders || placed < *options.orders) {
    auto due = start;
    if (options.rate_per_second > 0) {
      constexpr double kFarAway = 1e9;  // Seconds; a clock could not hold what the smallest rates ask for.
      const std::chrono::duration<double> offset(
          std::min(kFarAway, static_cast<double>(placed) / options.rate_per_second));
      due += std::chrono::duration_cast<Clock::duration>(offset);
    }
    if (stop.came_before(due)) break;
    shop.place(source.next());
    ++placed;
  }
  return placed;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto options = parse_options(argc, argv);
    if (!options) {
      std::fputs(kUsage, stdout);
      return 0;
    }
    const auto start = Clock::now();
    const std::int64_t placed = serve(*options);
    const std::chrono::duration<double> took = Clock::now() - start;
    std::printf("%lld orders placed in %.2f s\n", static_cast<long long>(placed), took.count());
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "order_service: %s\n\n%s", error.what(), kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "order_service: %s\n", error.what());
    return 1;
  }
}
