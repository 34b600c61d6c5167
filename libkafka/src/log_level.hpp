#pragma once

#include <syslog.h>

#include <txbox/base/log.hpp>

namespace txbox::kafka {

/// librdkafka's levels are those of syslog.
[[nodiscard]] inline LogLevel level_of(int syslog_level) noexcept {
  if (syslog_level <= LOG_ERR) return LogLevel::error;
  if (syslog_level == LOG_WARNING) return LogLevel::warning;
  return syslog_level == LOG_DEBUG ? LogLevel::debug : LogLevel::info;
}

}  // namespace txbox::kafka
