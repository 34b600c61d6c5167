#pragma once

#include <string>
#include <vector>

namespace txbox::kafka {

/// The name of every property, aliases included, that the linked librdkafka documents.
[[nodiscard]] std::vector<std::string> property_names();

}  // namespace txbox::kafka
