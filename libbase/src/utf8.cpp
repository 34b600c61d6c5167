#include <txbox/base/utf8.hpp>

#include <cstdint>
#include <cstring>

namespace txbox::base {

std::size_t utf8_sequence_length(std::string_view rest) noexcept {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(at < rest.size() ? rest[at] : '\0'); };
  const auto tail = [&](std::size_t at) { return byte(at) >= 0x80 && byte(at) <= 0xbf; };
  if (rest.empty()) return 0;
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool shortest = first != 0xe0 || byte(1) >= 0xa0;
    const bool no_surrogate = first != 0xed || byte(1) <= 0x9f;
    return tail(1) && tail(2) && shortest && no_surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool shortest = first != 0xf0 || byte(1) >= 0x90;
    const bool in_range = first != 0xf4 || byte(1) <= 0x8f;
    return tail(1) && tail(2) && tail(3) && shortest && in_range ? 4 : 0;
  }
  return 0;
}

bool is_utf8(std::string_view bytes) noexcept {
  std::size_t at = 0;
  while (at < bytes.size()) {
    // Payloads are mostly ASCII, and this runs inside the application's transaction: eight bytes at a time.
    std::uint64_t word = 0;
    if (at + sizeof word <= bytes.size()) {
      std::memcpy(&word, bytes.data() + at, sizeof word);
      if ((word & 0x8080808080808080U) == 0) {
        at += sizeof word;
        continue;
      }
    }
    const std::size_t length = utf8_sequence_length(bytes.substr(at));
    if (length == 0) return false;
    at += length;
  }
  return true;
}

}  // namespace txbox::base
