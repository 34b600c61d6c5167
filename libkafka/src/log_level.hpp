#pragma once

#include <syslog.h>

#include <string_view>

#include <txbox/base/log.hpp>

namespace txbox::kafka {

/// librdkafka's levels are those of syslog. A connection that failed is an error event too, which says it once.
[[nodiscard]] inline LogLevel level_of(int syslog_level, std::string_view facility) noexcept {
  if (facility == "FAIL") return LogLevel::debug;
  if (syslog_level <= LOG_ERR) return LogLevel::error;
  if (syslog_level == LOG_WARNING) return LogLevel::warning;
  return syslog_level == LOG_DEBUG ? LogLevel::debug : LogLevel::info;
}

}  // namespace txbox::kafka
