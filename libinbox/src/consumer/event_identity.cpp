#include "libinbox/src/consumer/event_identity.hpp"

#include <algorithm>
#include <cstdint>

namespace txbox::inbox::consumer {

namespace {

constexpr std::size_t kLongestEventId = 255;
// Topic names have up to 249 bytes; with everything else a longer part than this would not fit.
constexpr std::size_t kLongestPart = 80;

bool can_name_an_event(BytesView value) noexcept {
  const std::string_view id = value.view();
  return !id.empty() && id.size() <= kLongestEventId && id.find('\0') == std::string_view::npos &&
         !id.starts_with(kPlaceIdPrefix);
}

/// FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/): tells apart long names that begin alike.
std::uint64_t fnv1a(std::string_view text) noexcept {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char byte : text) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 1099511628211ULL;
  }
  return hash;
}

std::string short_part(std::string_view text) {
  if (text.size() <= kLongestPart) return std::string(text);
  return std::string(text.substr(0, kLongestPart - 21)) + '~' + std::to_string(fnv1a(text));
}

}  // namespace

std::optional<std::string_view> event_id_in(const Headers& headers, std::span<const std::string> id_headers) {
  for (const std::string& name : id_headers) {
    const Header* found = nullptr;
    for (const Header& header : headers) {
      if (header.name != name) continue;
      if (found != nullptr && found->value != header.value) return std::nullopt;
      found = &header;
    }
    if (found == nullptr) continue;
    if (!can_name_an_event(found->value)) return std::nullopt;
    return found->value.view();
  }
  return std::nullopt;
}

std::string event_id_of_place(std::string_view cluster_id, const Message& message) {
  std::string id(kPlaceIdPrefix);
  id += short_part(cluster_id);
  for (const std::string& part : {short_part(message.topic), std::to_string(message.partition),
                                  std::to_string(message.offset), std::to_string(message.timestamp_ms)}) {
    id += ':';
    id += part;
  }
  return id;
}

}  // namespace txbox::inbox::consumer
