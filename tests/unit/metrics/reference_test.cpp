#include "relay/metrics/reference.hpp"

#include <fstream>
#include <iterator>
#include <set>
#include <string_view>

#include <doctest/doctest.h>

#include "relay/metrics/metric_table.hpp"

namespace txbox::relay {

TEST_CASE("docs/metrics.md is what the table of metrics says") {
  std::ifstream file(TXBOX_REFERENCE_PATH);
  const std::string stands{std::istreambuf_iterator<char>(file), {}};
  INFO("build/bin/metrics_reference > docs/metrics.md writes it anew");
  CHECK((stands == metrics_reference()));
}

TEST_CASE("each metric has a name of its own, a help text and one source") {
  std::set<std::string_view> names;
  for (const Metric& metric : metrics()) {
    CAPTURE(metric.name);
    CHECK(names.insert(metric.name).second);
    CHECK(metric.name.starts_with("txbox_"));
    CHECK(metric.help.ends_with("."));
    CHECK((metric.kind == MetricKind::counter) == metric.name.ends_with("_total"));
    CHECK((metric.of_file != nullptr) + (metric.of_relay != nullptr) + (metric.samples != nullptr) == 1);
    if (metric.of_file != nullptr) CHECK(metric.labels == "db");
    if (metric.of_relay != nullptr) CHECK(metric.labels.empty());
  }
}

}  // namespace txbox::relay
