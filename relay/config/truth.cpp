#include "relay/config/truth.hpp"

namespace txbox::relay {

std::optional<bool> parse_truth(std::string_view text) {
  if (text == "true" || text == "yes" || text == "on" || text == "1") return true;
  if (text == "false" || text == "no" || text == "off" || text == "0") return false;
  return std::nullopt;
}

}  // namespace txbox::relay
