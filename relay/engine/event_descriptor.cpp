#include "relay/engine/event_descriptor.hpp"

#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

#include <txbox/base/error.hpp>

namespace txbox::relay {

EventDescriptor::EventDescriptor() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (descriptor_ < 0) throw Error(ErrorCode::failure, "no descriptor is left for an eventfd");
}

EventDescriptor::~EventDescriptor() { close(descriptor_); }

void EventDescriptor::signal() const noexcept {
  const std::uint64_t one = 1;
  // The counter can only be full when it is set already, which is all that a waker wants.
  [[maybe_unused]] const auto written = write(descriptor_, &one, sizeof one);
}

void EventDescriptor::clear() const noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto taken = read(descriptor_, &count, sizeof count);
}

}  // namespace txbox::relay
