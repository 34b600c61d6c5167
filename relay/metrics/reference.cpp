#include "relay/metrics/reference.hpp"

#include "relay/metrics/metric_table.hpp"

namespace txbox::relay {

namespace {

constexpr std::string_view kHead = R"(# Metrics

This page is written by the program's own table of metrics: `build/bin/metrics_reference > docs/metrics.md`.

`outbox-relay run --http 127.0.0.1:9464` serves them at `/metrics`, in Prometheus' text format. Names and labels are a
contract. No label has a key, a payload or an event id; `db` is the path of a file as it was given or found, and no
more than 1000 files and 50 topics a file have series of their own.

Everything is a copy that the relay makes once a second: asking for it costs the relay nothing, and reads no database.
Rows are counted again when something changed; the more time that takes, the less often it is done.

| metric | type | labels | what it is |
|---|---|---|---|
)";

constexpr std::string_view kTail = R"(
The consumer's side (`txbox_inbox_*`) belongs to the application's own process and is not served by the relay.
)";

std::string_view word(MetricKind kind) noexcept {
  switch (kind) {
    case MetricKind::gauge: return "gauge";
    case MetricKind::counter: return "counter";
    case MetricKind::histogram: return "histogram";
  }
  return {};
}

}  // namespace

std::string metrics_reference() {
  std::string text(kHead);
  for (const Metric& metric : metrics()) {
    text.append("| `").append(metric.name).append("` | ").append(word(metric.kind)).append(" | ");
    text.append(metric.labels.empty() ? "-" : metric.labels).append(" | ").append(metric.help).append(" |\n");
  }
  text += kTail;
  return text;
}

}  // namespace txbox::relay
