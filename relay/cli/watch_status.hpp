#pragma once

#include <string>

#include "relay/engine/figures.hpp"

namespace txbox::relay {

/// What the pages show beside numbers: the process, and each file as `status --json` has it, without what only the file
/// itself tells. `figures` may be those of a relay that has done nothing yet.
[[nodiscard]] std::string watch_status_as_json(const RelayFigures& figures, WallTime now);
/// The same for a person, as a page that asks for itself again now and then.
[[nodiscard]] std::string watch_status_as_html(const RelayFigures& figures, WallTime now);

/// "active" or "standby" where all files are, else "mixed"; "none" without a file.
[[nodiscard]] std::string role_of_all(const RelayFigures& figures);

}  // namespace txbox::relay
