#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include <txbox/inbox/message.hpp>

#include "libinbox/src/consumer/core.hpp"

namespace txbox::inbox::consumer {

/// The messages in hand, by partition and offset: the core decides by their places alone.
class MessageStore {
 public:
  /// A copy of one that is here already is dropped.
  void add(const Place& place, Message message);
  /// REQUIRES: it was added and not forgotten.
  [[nodiscard]] Message& at(const Place& place, std::int64_t offset);
  /// One that is not here is none.
  void forget(const Place& place, std::int64_t offset);
  void forget_all() noexcept { messages_.clear(); }

 private:
  std::map<Place, std::deque<Message>> messages_;
};

/// What a message weighs in memory, headers included.
[[nodiscard]] std::size_t bytes_of(const Message& message) noexcept;

}  // namespace txbox::inbox::consumer
