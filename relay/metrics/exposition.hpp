#pragma once

#include <string>

#include "relay/metrics/metric_table.hpp"

namespace txbox::relay {

inline constexpr char kExpositionType[] = "text/plain; version=0.0.4; charset=utf-8";

/// Every metric of the table in Prometheus' text format. One without a series is left out.
[[nodiscard]] std::string exposition(const RelayFigures& relay, const MetricContext& context);

}  // namespace txbox::relay
