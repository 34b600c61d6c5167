#pragma once

#include <string>

#include <txbox/kafka/producer.hpp>

#include "handles.hpp"

namespace txbox::kafka {

/// Sets one property; throws Error(configuration) where librdkafka refuses name or value. No text repeats a secret.
void set_property(rd_kafka_conf_t* configuration, const std::string& property, const std::string& value);

/// The properties that the relay's promises rest on; check_producer_properties() refuses other values for them.
void set_guaranteed_properties(rd_kafka_conf_t* configuration);

/// Everything for one producer: our defaults, the user's properties after them, then what the options fix.
[[nodiscard]] ConfigurationHandle producer_configuration(const ProducerOptions& options);

}  // namespace txbox::kafka
