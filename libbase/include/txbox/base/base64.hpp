#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace txbox::base {

/// RFC 4648, section 4: the standard alphabet, padded.
[[nodiscard]] std::string base64_encode(std::string_view bytes);

/// nullopt for anything but what base64_encode() writes: white space, missing padding and stray bits are refused.
[[nodiscard]] std::optional<std::string> base64_decode(std::string_view text);

}  // namespace txbox::base
