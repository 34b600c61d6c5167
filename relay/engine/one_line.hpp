#pragma once

#include <algorithm>
#include <string>

namespace txbox::relay {

/// For formats in which a line is one entry: whatever could begin another one, or mean something to a terminal, is "?".
[[nodiscard]] inline std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char byte) { return static_cast<unsigned char>(byte) < ' '; }, '?');
  return text;
}

}  // namespace txbox::relay
