#pragma once

#include <cstddef>
#include <string_view>

namespace txbox::base {

/// Length of the well-formed UTF-8 sequence at the front of `rest` (RFC 3629: no overlong forms, no surrogates), 0
/// where there is none.
[[nodiscard]] std::size_t utf8_sequence_length(std::string_view rest) noexcept;

/// Whether all of it is well-formed UTF-8. A NUL byte is.
[[nodiscard]] bool is_utf8(std::string_view bytes) noexcept;

}  // namespace txbox::base
