#pragma once

#include <cstdint>
#include <string>

#include <txbox/base/bytes.hpp>
#include <txbox/base/headers.hpp>

namespace txbox::inbox {

/// A record of a topic as it came, byte for byte: null, empty and absent are kept apart in key, payload and headers.
/// Owns everything, so that a handler may copy it or move from a copy of its own.
struct Message {
  std::string topic;
  std::int32_t partition = -1;
  std::int64_t offset = -1;
  std::int64_t timestamp_ms = -1;  ///< Milliseconds since 1970; -1: the record has none.
  Bytes key;
  Bytes payload;
  Headers headers;
  /// What was claimed for this message: the same for every copy of the event. Empty where the message carries none and
  /// MissingId::park or ::reject gives it up; a handler never sees that.
  std::string event_id;
  /// 1 for the first try. Tries that failed count, and tries that a process of an earlier life did not survive.
  int attempt = 1;
};

}  // namespace txbox::inbox
