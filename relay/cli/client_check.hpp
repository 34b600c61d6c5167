#pragma once

#include <txbox/kafka/settings.hpp>

namespace txbox::relay {

/// Throws configuration for what only a client finds: properties that do not go together, files of keys and
/// certificates that cannot be read. Whether Kafka is there is none of its business.
void check_client(const kafka::Properties& properties);

}  // namespace txbox::relay
