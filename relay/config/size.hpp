#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace txbox::relay {

/// A number of bytes as people write it: a whole number with its unit, `512B 64KiB 16MiB 1GiB` (powers of 1024) or
/// `64kB 16MB 1GB` (of 1000). nullopt for anything else, a missing unit and more than a pebibyte included.
[[nodiscard]] std::optional<std::int64_t> parse_size(const std::string& text);

}  // namespace txbox::relay
