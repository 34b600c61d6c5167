#pragma once

#include <chrono>
#include <memory>

#include "relay/engine/figures.hpp"
#include "relay/engine/liveness.hpp"
#include "relay/http/server.hpp"

namespace txbox::relay {

/// A loop that has not moved for so long is stuck: /livez says so.
inline constexpr std::chrono::seconds kHungAfter{30};

/// What there is to look at while `run` is at work: /metrics, /livez, /readyz, /status.json, and a page for people.
/// Each is made of the newest figures when it is asked for, on any thread.
[[nodiscard]] HttpPages watch_pages(const std::shared_ptr<const FigureBoard>& board,
                                    const std::shared_ptr<const Liveness>& liveness);

/// Why this relay is not ready; empty: it is. It is when a broker has answered, and it serves a file and waits for none
/// that was named.
[[nodiscard]] std::string why_not_ready(const RelayFigures* figures);

}  // namespace txbox::relay
