#pragma once

#include <string>

#include <txbox/store/connection.hpp>

namespace txbox::relay {

/// Opens a file for a command that only looks, after the same checks as the relay makes; a file that cannot be read
/// is an Error, never an empty answer.
[[nodiscard]] store::Connection open_for_reading(const std::string& path);

/// The same for a command that changes rows beside a relay that may run.
[[nodiscard]] store::Connection open_for_changes(const std::string& path);

}  // namespace txbox::relay
