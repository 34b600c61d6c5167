#include "relay/metrics/exposition.hpp"

#include <chrono>
#include <limits>
#include <utility>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <txbox/base/utf8.hpp>

namespace txbox::relay {

namespace {

using Seconds = std::chrono::duration<double>;

prometheus::MetricType type_of(MetricKind kind) noexcept {
  switch (kind) {
    case MetricKind::gauge: return prometheus::MetricType::Gauge;
    case MetricKind::counter: return prometheus::MetricType::Counter;
    case MetricKind::histogram: return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

prometheus::ClientMetric::Histogram histogram_of(const DurationHistogram& durations) {
  prometheus::ClientMetric::Histogram histogram;
  histogram.sample_count = durations.count();
  histogram.sample_sum = Seconds(durations.sum()).count();
  std::uint64_t below = 0;
  for (std::size_t index = 0; index < DurationHistogram::kBounds.size(); ++index) {
    below += durations.in_bucket(index);
    histogram.bucket.push_back({below, Seconds(DurationHistogram::kBounds[index]).count()});
  }
  histogram.bucket.push_back({durations.count(), std::numeric_limits<double>::infinity()});
  return histogram;
}

/// A path may have any bytes, and a reader of this format takes UTF-8 only.
std::string label_value(const std::string& value) {
  if (base::is_utf8(value)) return value;
  std::string plain = value;
  for (char& byte : plain) {
    if (static_cast<unsigned char>(byte) >= 0x80) byte = '?';
  }
  return plain;
}

prometheus::ClientMetric metric_of(const MetricSample& sample, MetricKind kind) {
  prometheus::ClientMetric metric;
  for (const auto& [name, value] : sample.labels) metric.label.push_back({name, label_value(value)});
  if (sample.histogram != nullptr) metric.histogram = histogram_of(*sample.histogram);
  if (kind == MetricKind::gauge) metric.gauge.value = sample.value;
  if (kind == MetricKind::counter) metric.counter.value = sample.value;
  return metric;
}

MetricSamples samples_of(const Metric& metric, const RelayFigures& relay, const MetricContext& context) {
  MetricSamples samples;
  if (metric.samples != nullptr) metric.samples(relay, context, samples);
  if (metric.of_relay != nullptr) samples.push_back({.labels = {}, .value = metric.of_relay(relay, context)});
  if (metric.of_file == nullptr) return samples;
  for (const FileFigures& file : files_shown(relay))
    samples.push_back({.labels = {{"db", file.db}}, .value = metric.of_file(file, context)});
  return samples;
}

}  // namespace

std::string exposition(const RelayFigures& relay, const MetricContext& context) {
  std::vector<prometheus::MetricFamily> families;
  for (const Metric& metric : metrics()) {
    prometheus::MetricFamily family;
    family.name = metric.name;
    family.help = metric.help;
    family.type = type_of(metric.kind);
    for (const MetricSample& sample : samples_of(metric, relay, context))
      family.metric.push_back(metric_of(sample, metric.kind));
    if (!family.metric.empty()) families.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serializer::Serialize(families);
}

}  // namespace txbox::relay
