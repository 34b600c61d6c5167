#pragma once

#include <optional>
#include <string_view>

namespace txbox::relay {

/// true, yes, on, 1; false, no, off, 0. nullopt for anything else.
[[nodiscard]] std::optional<bool> parse_truth(std::string_view text);

}  // namespace txbox::relay
