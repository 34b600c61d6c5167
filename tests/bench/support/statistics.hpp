#pragma once

#include <vector>

namespace txbox::bench {

/// The value below which `percent` of the values lie (nearest rank); the median of an even count is the mean of the
/// middle two. REQUIRES: values not empty.
[[nodiscard]] double percentile(std::vector<double> values, double percent);
[[nodiscard]] double median(std::vector<double> values);

/// For output: three decimals are more than any of these measurements can promise.
[[nodiscard]] double rounded(double value);

}  // namespace txbox::bench
