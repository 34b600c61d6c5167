#include "relay/demo/copy_plan.hpp"

#include <txbox/base/random.hpp>

namespace txbox::relay::demo {
namespace {

/// FNV-1a: the event ids are new in every run, the payloads are not.
std::uint64_t hash_of(BytesView bytes) {
  constexpr std::uint64_t kBasis = 0xcbf29ce484222325;
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash = kBasis;
  for (const char byte : bytes.view()) hash = (hash ^ static_cast<unsigned char>(byte)) * kPrime;
  return hash;
}

}  // namespace

std::vector<std::chrono::milliseconds> plan_copies(std::uint64_t seed, BytesView payload) {
  constexpr std::uint64_t kCopiesMax = 2;
  constexpr std::uint64_t kOneInIsLate = 4;
  constexpr std::uint64_t kSoonMs = 150;
  constexpr std::uint64_t kLateMs = 2500;  // Late enough that a consumer may have died and come back in between.
  SeededRandom random(seed ^ hash_of(payload));
  std::vector<std::chrono::milliseconds> copies(random.below(kCopiesMax + 1));
  for (std::chrono::milliseconds& delay : copies) {
    const std::uint64_t longest = random.below(kOneInIsLate) == 0 ? kLateMs : kSoonMs;
    delay = std::chrono::milliseconds(random.below(longest));
  }
  return copies;
}

}  // namespace txbox::relay::demo
