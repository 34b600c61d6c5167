#include "relay/config/size.hpp"

#include <array>
#include <charconv>
#include <string_view>

namespace txbox::relay {

namespace {
struct Unit {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<Unit, 7> kUnits{{{"B", 1},
                                      {"kB", 1'000},
                                      {"MB", 1'000'000},
                                      {"GB", 1'000'000'000},
                                      {"KiB", std::int64_t{1} << 10},
                                      {"MiB", std::int64_t{1} << 20},
                                      {"GiB", std::int64_t{1} << 30}}};
constexpr std::int64_t kLargestBytes = std::int64_t{1} << 50;
}  // namespace

std::optional<std::int64_t> parse_size(const std::string& text) {
  std::int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || count < 0) return std::nullopt;
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  for (const Unit& known : kUnits) {
    if (known.name != unit) continue;
    if (count > kLargestBytes / known.bytes) return std::nullopt;
    return count * known.bytes;
  }
  return std::nullopt;
}

}  // namespace txbox::relay
