#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace txbox::relay::demo {

/// 1234567 as "1,234,567".
[[nodiscard]] std::string with_commas(std::int64_t number);
/// 1234 ms as "1.23 s".
[[nodiscard]] std::string in_seconds(std::chrono::milliseconds time);
/// "1 time", "2 times"; with an irregular plural "1 copy", "2 copies".
[[nodiscard]] std::string counted(std::int64_t number, const std::string& singular, const std::string& plural = {});

}  // namespace txbox::relay::demo
