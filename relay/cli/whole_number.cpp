#include "relay/cli/whole_number.hpp"

#include <charconv>

namespace txbox::relay {

std::function<std::string(const std::string&)> whole_number(std::uint64_t least, std::uint64_t most) {
  return [least, most](const std::string& text) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec == std::errc() && read.ptr == end && value >= least && value <= most) return std::string();
    return "a whole number from " + std::to_string(least) + " to " + std::to_string(most) + " is wanted";
  };
}

}  // namespace txbox::relay
