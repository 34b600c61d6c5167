#pragma once

#include <span>
#include <string>

#include "relay/config/configuration.hpp"

namespace txbox::relay {

/// `name = value  # where it came from`, one a line, the values as TOML writes them. A secret's value is ********.
[[nodiscard]] std::string settings_as_text(std::span<const EffectiveSetting> settings);

/// {"options":[{"name":"relay.standby","values":["true"],"secret":false,"source":"flag","where":"--standby",
/// "overrides":["relay.toml:3"]},...]}. The values of a secret are an empty list.
[[nodiscard]] std::string settings_as_json(std::span<const EffectiveSetting> settings);

}  // namespace txbox::relay
