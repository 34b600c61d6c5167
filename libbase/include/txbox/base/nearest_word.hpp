#pragma once

#include <span>
#include <string>
#include <string_view>

namespace txbox::base {

/// The known word that is closest to what was typed (edit distance), or empty when none is close enough to be
/// meant: more than half of its letters would have to change.
[[nodiscard]] std::string nearest_word(std::string_view typed, std::span<const std::string> known);

}  // namespace txbox::base
