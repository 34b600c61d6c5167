#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace txbox::relay {

/// A check of an option's text: empty for a whole number of that range, else words that say what is wanted.
[[nodiscard]] std::function<std::string(const std::string&)> whole_number(std::uint64_t least, std::uint64_t most);

}  // namespace txbox::relay
