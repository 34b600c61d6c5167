#pragma once

#include <cstdio>

namespace txbox::relay {

/// Whether a person looks at the stream and wants colours: a terminal that is not dumb, and no NO_COLOR
/// (https://no-color.org).
[[nodiscard]] bool wants_colours(std::FILE* stream);

}  // namespace txbox::relay
