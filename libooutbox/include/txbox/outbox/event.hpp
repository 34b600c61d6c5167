#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <txbox/base/bytes.hpp>
#include <txbox/base/headers.hpp>

namespace txbox::outbox {

/// One event, for designated initialisers: `{.topic = "orders", .key = "A1", .payload = json}`.
struct Event {
  std::string topic;                           ///< 1-249 of [A-Za-z0-9._-], not `.` or `..`.
  std::optional<std::int32_t> partition = {};  ///< Explicit partition; none: by key, as Java's client chooses.
  Bytes key = {};                              ///< Null: no key, and no order promised.
  Bytes payload = {};                          ///< Null: a tombstone.
  Headers headers = {};                        ///< Names `id` and `txbox-*` are reserved.
  /// 1-255 bytes, unique; give one where the event has a natural id. Empty: one is made.
  std::string event_id = {};
  std::optional<std::int64_t> deliver_at_ms = {};  ///< ms since 1970; not published before.
};

}  // namespace txbox::outbox
