#pragma once

#include <span>
#include <string>

#include "relay/doctor/check.hpp"

namespace txbox::relay {

/// A table with what to do below each line that asks for it, and a last line with the count of each result.
[[nodiscard]] std::string checks_as_text(std::span<const doctor::Check> checks, bool colours);
/// {"exit_code":0,"checks":[{"subject":null,"name":"...","result":"ok","text":"...","remedy":null},...]}
[[nodiscard]] std::string checks_as_json(std::span<const doctor::Check> checks);

}  // namespace txbox::relay
