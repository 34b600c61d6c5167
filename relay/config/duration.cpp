#include "relay/config/duration.hpp"

#include <array>
#include <charconv>
#include <string_view>

namespace txbox::relay {

namespace {
struct Unit {
  std::string_view name;
  std::int64_t ms;
};
constexpr std::array<Unit, 5> kUnits{{{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};
constexpr std::int64_t kLongestMs = std::int64_t{36'525} * 86'400'000;
}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(const std::string& text) {
  std::int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || count < 0) return std::nullopt;
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  for (const Unit& known : kUnits) {
    if (known.name != unit) continue;
    if (count > kLongestMs / known.ms) return std::nullopt;
    return std::chrono::milliseconds(count * known.ms);
  }
  return std::nullopt;
}

}  // namespace txbox::relay
