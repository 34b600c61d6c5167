#include "relay/cli/watch_pages.hpp"

#include <algorithm>
#include <string>

#include <txbox/base/clock.hpp>
#include <txbox/kafka/settings.hpp>
#include <txbox/store/version.hpp>

#include "relay/cli/watch_status.hpp"
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

std::shared_ptr<const RelayFigures> newest(const FigureBoard& board) {
  auto figures = board.newest();
  return figures ? figures : std::make_shared<const RelayFigures>();
}

HttpAnswer metrics_page(const FigureBoard& board, const Liveness& liveness) {
  return {.type = kExpositionType, .body = exposition(*newest(board), metric_context(liveness))};
}

HttpAnswer status_page(const FigureBoard& board) {
  return {.type = "application/json", .body = watch_status_as_json(*newest(board), system_clock().wall_now()) + "\n"};
}

HttpAnswer people_page(const FigureBoard& board) {
  return {.type = "text/html; charset=utf-8", .body = watch_status_as_html(*newest(board), system_clock().wall_now())};
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

HttpPages watch_pages(const std::shared_ptr<const FigureBoard>& board,
                      const std::shared_ptr<const Liveness>& liveness) {
  HttpPages pages;
  pages.emplace("/metrics", [board, liveness] { return metrics_page(*board, *liveness); });
  pages.emplace("/livez", [liveness] { return live_page(*liveness); });
  pages.emplace("/status.json", [board] { return status_page(*board); });
  pages.emplace("/", [board] { return people_page(*board); });
  pages.emplace("/readyz", [board] { return ready_page(*board); });
  return pages;
}

}  // namespace txbox::relay
