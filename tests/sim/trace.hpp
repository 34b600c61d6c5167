#pragma once

#include <string>

#include "relay/engine/core.hpp"

namespace txbox::sim {

/// With TXBOX_SIM_TRACE=1 every event and command of a run goes to stderr: for one seed that failed.
[[nodiscard]] bool tracing();
void trace(const std::string& text);
void trace(const relay::Event& event);
void trace(const relay::Command& command);

}  // namespace txbox::sim
