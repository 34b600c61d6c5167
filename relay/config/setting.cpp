#include "relay/config/setting.hpp"

namespace txbox::relay {

std::string did_you_mean(const std::string& nearest) {
  return nearest.empty() ? std::string() : "; did you mean " + nearest + "?";
}

}  // namespace txbox::relay
