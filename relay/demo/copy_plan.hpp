#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include <txbox/base/bytes.hpp>

namespace txbox::relay::demo {

/// How long after its first appearance an event with this payload is sent once more, by a producer that does not know
/// what it has sent: never, once or twice, so that every event is in the topic one to three times. Pure: the same seed
/// and payload give the same copies.
[[nodiscard]] std::vector<std::chrono::milliseconds> plan_copies(std::uint64_t seed, BytesView payload);

}  // namespace txbox::relay::demo
