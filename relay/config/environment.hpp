#pragma once

#include <string>
#include <vector>

#include "relay/config/setting.hpp"

namespace txbox::relay {

/// The settings among `environment`, a list of NAME=VALUE. OUTBOX_RELAY_KAFKA_LINGER_MS is linger.ms: which of the
/// underscores are dots is looked up among librdkafka's own properties. An empty value counts as none. Throws
/// configuration for OUTBOX_RELAY_... that no option has, naming the nearest, and for a value that does not fit.
[[nodiscard]] Settings from_environment(const std::vector<std::string>& environment);

/// The property that OUTBOX_RELAY_KAFKA_... names; where librdkafka has none, with every underscore a dot.
[[nodiscard]] std::string property_of_variable(const std::string& variable);

/// The process's environment as NAME=VALUE.
[[nodiscard]] std::vector<std::string> process_environment();

}  // namespace txbox::relay
