#pragma once

#include <cstdio>
#include <string>

namespace txbox::relay {

/// True when a person sits at standard input and can be asked.
[[nodiscard]] bool can_ask() noexcept;

/// Asks on `words` and reads one line of `answers`: only `y` or `yes`, in whatever case, is a yes; the end of the
/// input is none.
[[nodiscard]] bool confirm(const std::string& question, std::FILE* answers, std::FILE* words);

}  // namespace txbox::relay
