#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace txbox::relay {

/// A length of time as people write it: a whole number and a unit, `250ms 30s 5m 2h 7d`. nullopt for anything
/// else, a missing unit and what exceeds a hundred years included.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(const std::string& text);

}  // namespace txbox::relay
