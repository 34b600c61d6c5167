#pragma once

#include <cstdint>
#include <vector>

#include <txbox/store/lane.hpp>

#include "relay/engine/core.hpp"

namespace txbox::relay {

/// Where a row stands between its first reading and the end of its life in the core.
enum class SlotState : std::uint8_t {
  unsent,        ///< Read; to be handed (again) to a producer when the scan comes by.
  in_flight,     ///< Handed to a producer, not yet reported.
  acked,         ///< Kafka has it; the receipt waits for the next mark.
  marking,       ///< Its receipt is in a mark under way.
  sent,          ///< Its receipt stands.
  hold_pending,  ///< To be listed in outbox_held; waits for the next mark.
  hold_marking,  ///< Its held row is in a mark under way.
  held,          ///< It stands in outbox_held.
};

/// A row in the core's memory: what reports, marks and a second reading need, and nothing of its record.
struct Slot {
  std::int64_t id = 0;
  std::uint64_t nonce_prefix = 0;
  store::Lane lane = 0;
  std::int64_t since_ms = 0;  ///< When it was written, or due.
  std::uint32_t bytes = 0;
  std::uint32_t topic = 0;
  std::uint32_t generation = 0;
  std::int32_t attempts = 0;
  std::int32_t partition = 0;      ///< Where it was handed over to.
  std::uint32_t ended_before = 0;  ///< So many connections of its producer had ended by then.
  SlotState state = SlotState::unsent;
  ProducerKind producer = ProducerKind::main;
  bool has_lane = false;
  bool suspect = false;   ///< It was in a refused batch; the probation producer finds out.
  bool killer = false;    ///< Connections died while it was in flight: the probation producer tries it alone.
  bool handed = false;    ///< Was handed to a producer and counts as open in its topic.
  bool repeated = false;  ///< May be in Kafka already: handing it over again is a possible duplicate.
};

[[nodiscard]] constexpr bool is_final(SlotState state) noexcept {
  return state == SlotState::sent || state == SlotState::held;
}
/// What settled_through may pass: final, or final with a mark that is already under way (marks run in order).
[[nodiscard]] constexpr bool is_settling(SlotState state) noexcept {
  return is_final(state) || state == SlotState::marking || state == SlotState::hold_marking;
}
/// Successors in its lane must not be taken from outbox_held before it is resolved (docs/schema.md, I4).
[[nodiscard]] constexpr bool is_unresolved(SlotState state) noexcept {
  return state == SlotState::unsent || state == SlotState::in_flight || state == SlotState::hold_pending ||
         state == SlotState::hold_marking;
}

/// The rows above settled_through that were read, in id order, in a ring. Ids are nearly contiguous, so a
/// look-up is one subtraction; gaps (pruned rows) cost no slot and make it a binary search. Single-threaded.
/// Pointers live until the next push().
class Window {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] Slot& at(std::size_t index) noexcept { return ring_[(head_ + index) & mask_]; }
  [[nodiscard]] const Slot& at(std::size_t index) const noexcept { return ring_[(head_ + index) & mask_]; }
  [[nodiscard]] Slot* find(std::int64_t id) noexcept;
  /// REQUIRES: id is above every id pushed before.
  Slot& push(std::int64_t id);
  /// Lets go of the final rows at the front; the slots behind stay.
  void pop_final() noexcept;
  /// The id through which every row is settled or in a mark under way; moves on as states do. Rises only.
  std::int64_t settle() noexcept;
  void start_at(std::int64_t settled_through) noexcept { settled_ = last_ = settled_through; }
  /// The highest id that was ever pushed, or where the window started.
  [[nodiscard]] std::int64_t last() const noexcept { return last_; }
  /// The lowest id that is still to be handed over, 0 for none. Walks the window: for rare events only.
  [[nodiscard]] std::int64_t first_unsent() const noexcept;

 private:
  void grow();

  std::vector<Slot> ring_;
  std::size_t mask_ = 0;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
  std::size_t settled_count_ = 0;  ///< So many slots at the front are settling.
  std::int64_t settled_ = 0;
  std::int64_t last_ = 0;
};

}  // namespace txbox::relay
