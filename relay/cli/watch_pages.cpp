#include "relay/cli/watch_pages.hpp"

#include <algorithm>
#include <string>

#include <txbox/base/clock.hpp>
#include <txbox/kafka/settings.hpp>
#include <txbox/store/version.hpp>

#include "relay/metrics/exposition.hpp"

namespace txbox::relay {

namespace {

constexpr unsigned kUnavailable = 503;

MetricContext metric_context(const Liveness& liveness) {
  const auto still = liveness.stillness(system_clock().steady_now());
  return {.now = system_clock().wall_now(),
          .version = TXBOX_VERSION,
          .librdkafka = kafka::library_version(),
          .sqlite = store::library_version(),
          .loop_still_seconds = std::chrono::duration<double>(still).count()};
}

HttpAnswer metrics_page(const FigureBoard& board, const Liveness& liveness) {
  const auto figures = board.newest();
  return {.type = kExpositionType, .body = exposition(figures ? *figures : RelayFigures{}, metric_context(liveness))};
}

HttpAnswer live_page(const Liveness& liveness) {
  const auto still = std::chrono::floor<std::chrono::seconds>(liveness.stillness(system_clock().steady_now()));
  if (still < kHungAfter) return {.body = "alive\n"};
  return {.status = kUnavailable,
          .body = "a thread of the relay has not moved for " + std::to_string(still.count()) + " s\n"};
}

HttpAnswer ready_page(const FigureBoard& board) {
  const std::string reason = why_not_ready(board.newest().get());
  if (reason.empty()) return {.body = "ready\n"};
  return {.status = kUnavailable, .body = reason + "\n"};
}

}  // namespace

std::string why_not_ready(const RelayFigures* figures) {
  if (figures == nullptr) return "starting";
  if (figures->stopping) return "stopping";
  bool serving = false;
  for (const FileFigures& file : figures->files) {
    if (file.role == FileFigures::Role::active) serving = true;
    const bool waits = file.role == FileFigures::Role::standby || file.role == FileFigures::Role::waiting;
    // What a pattern found may be a file that is still being made.
    if (waits && (!file.by_pattern || file.role == FileFigures::Role::standby))
      return file.reason.empty() ? file.db + ": is being opened" : file.reason;
  }
  if (!serving) return "no file is served";
  if (figures->connected) return {};
  return figures->trouble ? figures->trouble->text : "no broker has answered yet";
}

HttpPages watch_pages(std::shared_ptr<const FigureBoard> board, std::shared_ptr<const Liveness> liveness) {
  HttpPages pages;
  pages.emplace("/metrics", [board, liveness] { return metrics_page(*board, *liveness); });
  pages.emplace("/livez", [liveness] { return live_page(*liveness); });
  pages.emplace("/readyz", [board] { return ready_page(*board); });
  return pages;
}

}  // namespace txbox::relay
