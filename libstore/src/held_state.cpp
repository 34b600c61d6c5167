#include <array>
#include <utility>

#include <txbox/store/held_state.hpp>

namespace txbox::store {

namespace {
constexpr std::array<std::pair<HeldState, std::string_view>, 6> kWords{{
    {HeldState::parked, "parked"},
    {HeldState::blocked, "blocked"},
    {HeldState::scheduled, "scheduled"},
    {HeldState::waiting, "waiting"},
    {HeldState::ready, "ready"},
    {HeldState::skipped, "skipped"},
}};
}  // namespace

std::string_view to_string(HeldState state) noexcept {
  for (const auto& [value, word] : kWords) {
    if (value == state) return word;
  }
  return "";
}

std::optional<HeldState> held_state_from(std::string_view word) noexcept {
  for (const auto& [value, known] : kWords) {
    if (known == word) return value;
  }
  return std::nullopt;
}

}  // namespace txbox::store
