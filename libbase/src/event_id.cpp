#include <txbox/base/event_id.hpp>

#include <txbox/base/check.hpp>

namespace txbox {

std::string event_id_from(std::int64_t created_at_ms, std::span<const std::uint8_t> nonce) {
  TXBOX_CHECK(nonce.size() == kNonceSize);
  TXBOX_CHECK(created_at_ms >= 0 && created_at_ms < (std::int64_t{1} << 48));
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto nonce_digit = [&](std::size_t index) -> unsigned {  // 1-based, as the header counts them
    const unsigned byte = nonce[(index - 1) / 2];
    return index % 2 == 1 ? byte >> 4U : byte & 15U;
  };
  std::string id;
  id.reserve(36);
  for (int digit = 11; digit >= 0; --digit) {
    id += kDigits[(static_cast<std::uint64_t>(created_at_ms) >> (4 * static_cast<unsigned>(digit))) & 15U];
    if (digit == 4) id += '-';
  }
  id += "-7";
  for (std::size_t index = 1; index <= 3; ++index) id += kDigits[nonce_digit(index)];
  id += '-';
  id += kDigits[8U + nonce_digit(4) % 4U];
  for (std::size_t index = 5; index <= 7; ++index) id += kDigits[nonce_digit(index)];
  id += '-';
  for (std::size_t index = 8; index <= 19; ++index) id += kDigits[nonce_digit(index)];
  return id;
}

}  // namespace txbox
