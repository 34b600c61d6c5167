#include <txbox/store/lane.hpp>

namespace txbox::store {

namespace {

constexpr std::uint64_t kFnvOffset = 0xcbf29ce484222325U;
constexpr std::uint64_t kFnvPrime = 0x100000001b3U;

std::uint64_t fnv(std::uint64_t hash, std::string_view bytes) noexcept {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * kFnvPrime;
  return hash;
}

}  // namespace

Lane lane_of(std::string_view topic, std::optional<std::int32_t> partition, std::string_view key) noexcept {
  std::uint64_t hash = fnv(kFnvOffset, topic);
  hash *= kFnvPrime;  // The zero byte: XOR with it changes nothing.
  const auto number = static_cast<std::uint64_t>(static_cast<std::int64_t>(partition.value_or(-1)));
  for (unsigned shift = 0; shift < 64; shift += 8) hash = (hash ^ ((number >> shift) & 0xffU)) * kFnvPrime;
  hash = fnv(hash, key);
  // FNV-1a mixes its last bytes poorly; SplitMix64's finaliser spreads them.
  hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebU;
  return static_cast<Lane>(hash ^ (hash >> 31U));
}

}  // namespace txbox::store
