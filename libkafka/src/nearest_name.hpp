#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace txbox::kafka {

/// The candidate with the fewest insertions, deletions and replacements from `name` (the first of several),
/// or empty when even that one shares too little to be what was meant.
[[nodiscard]] std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace txbox::kafka
