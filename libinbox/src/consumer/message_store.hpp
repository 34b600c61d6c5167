#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include <txbox/inbox/message.hpp>

#include "libinbox/src/consumer/core.hpp"

namespace txbox::inbox::consumer {

/// The messages in hand, by partition and offset: the core decides by their places alone.
class MessageStore {
 public:
  /// A message to be filled, and then to be added. It holds what a forgotten one held: its memory is used again, since
  /// a message is a dozen of small allocations. The same one until add_spare() or forget().
  [[nodiscard]] Message& spare();
  /// A copy of one that is here already is dropped. REQUIRES: spare() was filled with a message of this place.
  void add_spare(const Place& place);
  /// REQUIRES: it was added and not forgotten.
  [[nodiscard]] Message& at(const Place& place, std::int64_t offset);
  /// One that is not here is none.
  void forget(const Place& place, std::int64_t offset);
  void forget_all() noexcept { messages_.clear(); }

 private:
  using Messages = std::deque<std::unique_ptr<Message>>;
  [[nodiscard]] static Messages::iterator place_of(Messages& messages, std::int64_t offset);
  [[nodiscard]] static Messages::iterator find(Messages& messages, std::int64_t offset);
  void keep(std::unique_ptr<Message> message);

  std::map<Place, Messages> messages_;
  std::vector<std::unique_ptr<Message>> spares_;  ///< So few and so small that they are no weight.
};

/// What a message weighs in memory, headers included.
[[nodiscard]] std::size_t bytes_of(const Message& message) noexcept;

}  // namespace txbox::inbox::consumer
