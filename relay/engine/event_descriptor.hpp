#pragma once

namespace txbox::relay {

/// An eventfd: lets any thread wake a poll(2). Signalling is safe from every thread; clearing belongs to the poller.
class EventDescriptor {
 public:
  EventDescriptor();  ///< Throws failure when the process is out of descriptors.
  EventDescriptor(const EventDescriptor&) = delete;
  EventDescriptor& operator=(const EventDescriptor&) = delete;
  ~EventDescriptor();

  void signal() const noexcept;
  void clear() const noexcept;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace txbox::relay
