#pragma once

#include <span>
#include <string>

#include <txbox/base/log.hpp>

#include "relay/engine/exit_code.hpp"

namespace txbox::relay {

/// What a drain that came to its end is worth: check_failed where rows are parked, blocked or wait for their topic,
/// with a line for each such file. Opens the files for reading; throws Error where one cannot be read.
[[nodiscard]] ExitCode drain_verdict(std::span<const std::string> databases, const LogSink& log);

}  // namespace txbox::relay
