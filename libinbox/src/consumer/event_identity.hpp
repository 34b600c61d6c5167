#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <txbox/base/headers.hpp>
#include <txbox/inbox/message.hpp>

namespace txbox::inbox::consumer {

/// How ids made of a record's place begin. A header's value that begins so is no event id, so that the two never meet.
inline constexpr std::string_view kPlaceIdPrefix = "txbox:at:";

/// The event id in the first of `id_headers` that is there, or nothing where it cannot name an event: null, empty,
/// longer than 255 bytes, with a NUL, there twice with different values, or of the prefix above. A bad value is not
/// made good by a later name: copies of one event must never end up under two ids. Points into `headers`.
[[nodiscard]] std::optional<std::string_view> event_id_in(const Headers& headers,
                                                          std::span<const std::string> id_headers);

/// An id for a record that has none, made of where it lies: cluster, topic, partition, offset, and its timestamp, since
/// a topic made anew uses its offsets again. 1-255 bytes, the same for every reading of that one record.
[[nodiscard]] std::string event_id_of_place(std::string_view cluster_id, const Message& message);

}  // namespace txbox::inbox::consumer
