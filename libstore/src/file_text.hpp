#pragma once

#include <optional>
#include <string>

namespace txbox::store {

/// The whole text of a small file that is not a database (it is closed again); nullopt where it cannot be read.
[[nodiscard]] std::optional<std::string> read_small_file(const std::string& path);

/// Replaces a file atomically: written beside it, fsync, rename, fsync of the folder. Throws failure.
void replace_small_file(const std::string& path, const std::string& text);

}  // namespace txbox::store
