#pragma once

#include <txbox/kafka/consumer.hpp>

#include "handles.hpp"

namespace txbox::kafka {

/// Everything for one member of a group: our defaults, the user's properties after them, then what the options fix.
[[nodiscard]] ConfigurationHandle consumer_configuration(const ConsumerOptions& options);

}  // namespace txbox::kafka
