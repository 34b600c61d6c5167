#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <txbox/base/bytes.hpp>

namespace txbox::store {

/// A lane is what keeps its order: (database file, topic, explicit partition or none, key bytes). It is
/// known by a 64-bit hash, stable across versions because outbox_held stores it: FNV-1a over
/// topic, a zero byte, partition as 8 little-endian bytes (-1 for none) and the key's bytes, then mixed by
/// SplitMix64's finaliser. Two lanes that share a hash only wait for each other.
/// A row without a key (null), a scheduled row and a re-driven row block nobody: they have no lane (nullopt, NULL in
/// SQL).
using Lane = std::int64_t;
[[nodiscard]] Lane lane_of(std::string_view topic, std::optional<std::int32_t> partition,
                           std::string_view key) noexcept;

}  // namespace txbox::store
