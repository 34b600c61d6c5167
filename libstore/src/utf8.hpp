#pragma once

#include <string_view>

namespace txbox::store {

/// Whether the bytes are well-formed UTF-8 (RFC 3629: shortest form, no surrogates, up to U+10FFFF).
[[nodiscard]] bool is_utf8(std::string_view bytes) noexcept;

}  // namespace txbox::store
