#include "relay/engine/window.hpp"

#include <algorithm>

#include <txbox/base/check.hpp>

namespace txbox::relay {

namespace {
constexpr std::size_t kFirstCapacity = 1024;
}

Slot* Window::find(std::int64_t id) noexcept {
  if (size_ == 0) return nullptr;
  const std::int64_t first = at(0).id;
  if (id < first || id > last_) return nullptr;
  const auto guess = static_cast<std::size_t>(id - first);
  if (guess < size_ && at(guess).id == id) return &at(guess);
  // Gaps only ever push a row closer to the front than its distance in ids says.
  std::size_t low = 0;
  std::size_t high = std::min(guess, size_ - 1);
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (at(middle).id < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return at(low).id == id ? &at(low) : nullptr;
}

Slot& Window::push(std::int64_t id) {
  TXBOX_CHECK(id > last_);
  if (size_ == ring_.size()) grow();
  Slot& slot = at(size_);
  slot = Slot{};
  slot.id = id;
  last_ = id;
  ++size_;
  return slot;
}

void Window::pop_final() noexcept {
  settle();
  while (size_ > 0 && is_final(at(0).state)) {
    head_ = (head_ + 1) & mask_;
    --size_;
    --settled_count_;
  }
}

std::int64_t Window::settle() noexcept {
  while (settled_count_ < size_ && is_settling(at(settled_count_).state)) {
    settled_ = at(settled_count_).id;
    ++settled_count_;
  }
  return settled_;
}

std::int64_t Window::first_unsent() const noexcept {
  for (std::size_t index = settled_count_; index < size_; ++index) {
    if (at(index).state == SlotState::unsent) return at(index).id;
  }
  return 0;
}

void Window::grow() {
  std::vector<Slot> larger(std::max(kFirstCapacity, ring_.size() * 2));
  for (std::size_t index = 0; index < size_; ++index) larger[index] = at(index);
  ring_.swap(larger);
  mask_ = ring_.size() - 1;
  head_ = 0;
}

}  // namespace txbox::relay
