#include "relay/cli/log.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace txbox::relay {

TEST_CASE("a JSON log line has its time, level and text") {
  const auto line = nlohmann::json::parse(log_line_as_json(LogLevel::warning, 1'700'000'000'123, "a \"quoted\"\nword"));
  CHECK(line["time"] == "2023-11-14T22:13:20.123Z");
  CHECK(line["level"] == "warning");
  CHECK(line["text"] == "a \"quoted\"\nword");
}

TEST_CASE("a text that is not UTF-8 is logged with replacements") {
  const std::string text = log_line_as_json(LogLevel::error, 0, "topic \xff\xfe");
  const auto line = nlohmann::json::parse(text);
  CHECK(line["text"] == "topic \xef\xbf\xbd\xef\xbf\xbd");
  CHECK(text.find('\n') == std::string::npos);
}

}  // namespace txbox::relay
