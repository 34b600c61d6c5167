#pragma once

#include <functional>
#include <string_view>

namespace txbox {

enum class LogLevel { debug, info, warning, error };

/// Where a library's words go: the embedding program decides. Called from the thread that has something
/// to say; must not throw. A text never contains a key, a payload or a secret. An empty sink is silence.
using LogSink = std::function<void(LogLevel level, std::string_view text)>;

}  // namespace txbox
