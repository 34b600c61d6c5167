#pragma once

#include <string>
#include <vector>

#include <txbox/kafka/settings.hpp>

namespace txbox::relay {

/// The librdkafka properties of `run`: from the environment (OUTBOX_RELAY_KAFKA_LINGER_MS is linger.ms), then
/// `-X name=value`, then --brokers; a later one wins. A secret is refused wherever it came from, since argv and
/// environment are readable by others; `NAME_file` names a file that holds it. Throws configuration, with the name
/// of the property and never its value. `environment` is a list of NAME=VALUE.
[[nodiscard]] kafka::Properties gather_properties(const std::vector<std::string>& environment,
                                                  const std::vector<std::string>& flags, const std::string& brokers);

/// Throws configuration for a variable OUTBOX_RELAY_... that no flag of `run` knows, naming the nearest.
void check_environment(const std::vector<std::string>& environment, const std::vector<std::string>& known);

/// The process's environment as NAME=VALUE.
[[nodiscard]] std::vector<std::string> process_environment();

}  // namespace txbox::relay
