#pragma once

#include <span>

#include <txbox/kafka/producer.hpp>

#include "handles.hpp"
#include "property_rules.hpp"

namespace txbox::kafka {

/// The properties that the relay's promises rest on; check_producer_properties() refuses other values for them.
[[nodiscard]] std::span<const Setting> guaranteed_producer_settings() noexcept;

/// Everything for one producer: our defaults, the user's properties after them, then what the options fix.
[[nodiscard]] ConfigurationHandle producer_configuration(const ProducerOptions& options);

}  // namespace txbox::kafka
