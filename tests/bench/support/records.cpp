#include "tests/bench/support/records.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

namespace txbox::bench {

std::string key_of(std::int64_t i) { return "key-" + std::to_string(i % kKeys); }

std::string payload_of(std::int64_t i, std::int64_t bytes) {
  std::array<char, 32> number{};
  const int digits = std::snprintf(number.data(), number.size(), "%011lld ", static_cast<long long>(i));
  std::string payload(number.data(), static_cast<std::size_t>(digits));
  payload.resize(static_cast<std::size_t>(bytes), 'x');
  return payload;
}

std::int64_t number_in(const void* payload, std::size_t size) {
  const char* text = static_cast<const char*>(payload);
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text, text + size, number);
  return error == std::errc() && end != text + size && *end == ' ' ? number : -1;
}

std::string event_id_header(std::int64_t i) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "019abcde-f012-7000-8000-%012llx", static_cast<unsigned long long>(i));
  return text.data();
}

std::string created_at_header() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

}  // namespace txbox::bench
