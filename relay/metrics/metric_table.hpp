#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <txbox/base/clock.hpp>

#include "relay/engine/figures.hpp"

namespace txbox::relay {

enum class MetricKind : std::uint8_t { gauge, counter, histogram };

/// What a scrape is made of, beside the figures.
struct MetricContext {
  WallTime now{};
  std::string version;
  std::string librdkafka;
  std::string sqlite;
  double loop_still_seconds = 0;  ///< Liveness::stillness().
};

using MetricLabels = std::vector<std::pair<std::string, std::string>>;
/// One series. A histogram's has `histogram` and no value; it must live until it was written.
struct MetricSample {
  MetricLabels labels;
  double value = 0;
  const DurationHistogram* histogram = nullptr;
};
using MetricSamples = std::vector<MetricSample>;

/// One metric. Its name and its labels are a contract with dashboards and alerts. docs/metrics.md is written from the
/// table of these. Exactly one of the functions is given.
struct Metric {
  std::string_view name;
  MetricKind kind = MetricKind::gauge;
  std::string_view labels = {};  ///< "db, state", for people.
  std::string_view help;
  /// One series a file, labelled `db`.
  double (*of_file)(const FileFigures& file, const MetricContext& context) = nullptr;
  /// One series.
  double (*of_relay)(const RelayFigures& relay, const MetricContext& context) = nullptr;
  /// Any series.
  void (*samples)(const RelayFigures& relay, const MetricContext& context, MetricSamples& out) = nullptr;
};

[[nodiscard]] std::span<const Metric> metrics() noexcept;

/// So many files have series of their own, the first ones; txbox_relay_files counts all.
inline constexpr std::size_t kFilesShown = 1000;
/// The files of which there are series.
[[nodiscard]] std::span<const FileFigures> files_shown(const RelayFigures& relay) noexcept;

}  // namespace txbox::relay
