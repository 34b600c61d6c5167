#pragma once

#include <functional>
#include <string>

#include <txbox/base/log.hpp>

namespace txbox::relay {

enum class LogFormat { text, json };

struct Log {
  LogSink sink;                             ///< Words on stderr, one line each, from any thread.
  std::function<void(LogLevel)> set_level;  ///< From here on, below it they are dropped; from any thread.
};

[[nodiscard]] Log make_log(LogLevel level, LogFormat format);
/// One JSON object, whatever bytes the text has (what is not UTF-8 is replaced).
[[nodiscard]] std::string log_line_as_json(LogLevel level, std::int64_t time_ms, std::string_view text);

}  // namespace txbox::relay
