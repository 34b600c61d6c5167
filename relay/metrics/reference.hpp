#pragma once

#include <string>

namespace txbox::relay {

/// docs/metrics.md, from the table of metrics.
[[nodiscard]] std::string metrics_reference();

}  // namespace txbox::relay
