#pragma once

#include <string>

namespace txbox::relay {

/// The person at the keyboard, for the audit: the name of the process's user, or `uid N` where it has none.
[[nodiscard]] std::string user_name();

}  // namespace txbox::relay
