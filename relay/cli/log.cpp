#include "relay/cli/log.hpp"

#include <memory>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <nlohmann/json.hpp>

#include <txbox/base/clock.hpp>

#include "relay/cli/output.hpp"

namespace txbox::relay {

namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

const char* level_word(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
    case LogLevel::error: return "error";
  }
  return "error";
}

}  // namespace

std::string log_line_as_json(LogLevel level, std::int64_t time_ms, std::string_view text) {
  const nlohmann::ordered_json line{{"time", to_iso_time(time_ms)}, {"level", level_word(level)}, {"text", text}};
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Log make_log(LogLevel level, LogFormat format) {
  auto logger = std::make_shared<spdlog::logger>("outbox-relay", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(spdlog_level(level));
  logger->flush_on(spdlog::level::debug);
  // The whole line is made here in both formats, so that it is escaped in one place.
  logger->set_pattern("%v");
  Log log;
  log.set_level = [logger](LogLevel least) { logger->set_level(spdlog_level(least)); };
  log.sink = [logger, format](LogLevel of, std::string_view text) {
    if (!logger->should_log(spdlog_level(of))) return;
    const std::int64_t time_ms = to_ms(system_clock().wall_now());
    const std::string line = format == LogFormat::json
                                 ? log_line_as_json(of, time_ms, text)
                                 : to_iso_time(time_ms) + " " + level_word(of) + " " + printable(text);
    logger->log(spdlog_level(of), spdlog::string_view_t(line));
  };
  return log;
}

}  // namespace txbox::relay
