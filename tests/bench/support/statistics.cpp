#include "tests/bench/support/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace txbox::bench {

double percentile(std::vector<double> values, double percent) {
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(percent / 100.0 * static_cast<double>(values.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return values[std::min(index, values.size() - 1)];
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2.0;
}

double rounded(double value) { return std::round(value * 1000.0) / 1000.0; }

}  // namespace txbox::bench
